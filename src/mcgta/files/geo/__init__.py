"""Tables with geometries: GeoJSON, GeoPackage, and what GeoParquet adds to Parquet."""
