"""Containers of other fields, clustered as they are: AnnData of tissues, and rasters of xarray.

Frames of pandas, polars, pyarrow and GeoPandas need nothing of this; :class:`mcgta.MCGTA` takes them.
"""
