package acidsql.orc;

import java.util.function.Function;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.types.DataType;

/**
 * Creates the objects of this package for Python. If Python used class names, py4j would look for
 * them in the class loader of the calling thread, which may not have them.
 */
public final class Tables {
  /** Creates a table; see its constructor. */
  public AcidTable table(
      String name,
      String key,
      DataType declared,
      DataType partitionSchema,
      String virtual,
      Function planner,
      String zone,
      String numbers,
      JavaSparkContext context) {
    return new AcidTable(
        name, key, declared, partitionSchema, virtual, planner, zone, numbers, context);
  }
}
