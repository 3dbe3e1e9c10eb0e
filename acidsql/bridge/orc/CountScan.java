package acidsql.orc;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Number of rows of a table, known without reading files. */
final class CountScan implements LocalScan {
  private final AcidTable table;
  private final Aggregates aggregates;

  CountScan(AcidTable table, Aggregates aggregates) {
    this.table = table;
    this.aggregates = aggregates;
  }

  public StructType readSchema() {
    return aggregates.result;
  }

  public InternalRow[] rows() {
    return new InternalRow[] {new GenericInternalRow(aggregates.none())};
  }

  public String description() {
    return table.name() + " tails of the files: " + readSchema().catalogString();
  }
}
