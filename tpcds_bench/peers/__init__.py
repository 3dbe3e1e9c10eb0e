"""Suite ``peers``: the same changes and reads on acidsql, other table formats and plain ORC."""
