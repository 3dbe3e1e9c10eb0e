package acidsql.writer;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.types.StructType;

/**
 * Makes the objects of this package that Python asks for. By the names of their classes py4j would
 * look for them in the class loader of the thread that asks, which may not have them.
 */
public final class Writers {
  /** Makes the write of a job; the arguments are those of a layout. */
  public BucketWrite write(
      String place,
      TypeDescription schema,
      TypeDescription keySchema,
      StructType columns,
      Configuration conf,
      long writeId,
      String only,
      String[] inserting,
      int[] properties,
      int values,
      boolean isBucketed,
      boolean stagesKeys) {
    return new BucketWrite(
        new BucketLayout(
            place,
            schema,
            keySchema,
            columns,
            conf,
            writeId,
            only,
            inserting,
            properties,
            values,
            isBucketed,
            stagesKeys));
  }

  /** Makes a file in memory. */
  public BucketFile file(TypeDescription schema, StructType columns, Configuration conf)
      throws IOException {
    return new BucketFile(null, schema, columns, conf);
  }
}
