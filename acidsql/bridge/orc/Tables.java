package acidsql.orc;

import java.io.IOException;
import java.util.function.Function;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import scala.Option;

/**
 * Creates the objects of this package for Python. If Python used class names, py4j would look for
 * them in the class loader of the calling thread, which may not have them.
 */
public final class Tables {
  /**
   * Creates a table, and returns the relation over it with the metadata columns. For the other
   * arguments, see the table's constructor.
   *
   * @param partitions see AcidTable.setPartitions; null without partition columns
   * @param initial see AcidTable.setInitial; null if all values are NULL
   */
  public DataSourceV2Relation relation(
      String name,
      String key,
      DataType declared,
      DataType partitionSchema,
      String virtual,
      Function planner,
      String zone,
      String numbers,
      JavaSparkContext context,
      byte[] partitions,
      byte[] initial)
      throws IOException {
    AcidTable table =
        new AcidTable(
            name, key, declared, partitionSchema, virtual, planner, zone, numbers, context);
    if (partitions != null) {
      table.setPartitions(partitions);
    }
    if (initial != null) {
      table.setInitial(initial);
    }
    Option none = Option.apply(null);
    return DataSourceV2Relation.create(table, none, none).withMetadataColumns();
  }
}
