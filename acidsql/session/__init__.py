"""What acidsql keeps for each Spark session."""
