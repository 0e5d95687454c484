"""Reports into CSV and Parquet files."""
