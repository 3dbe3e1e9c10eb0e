"""Suite ``peers``: run the same changes and reads on acidsql, other table formats and plain ORC."""
