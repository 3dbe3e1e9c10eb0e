package acidsql.writer;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * What the tasks of a write job need to know. The columns of their rows are five of an event, those
 * of the table, the name of the target, the values that tell the directory, and the bucket.
 */
public final class BucketLayout implements Serializable {
  final String place;
  final TypeDescription schema;
  final StructType columns;
  final SerializableConfiguration conf;
  final long writeId;
  final String only;
  final String[] inserting;
  final int[] properties;
  final int values;
  final boolean isBucketed;

  /**
   * @param place directory to write to.
   * @param schema of the files.
   * @param columns the table's columns that rows have.
   * @param conf has the settings of ORC's writer.
   * @param writeId of new rows.
   * @param only the target of all events, or null if rows have its name.
   * @param inserting names of the targets whose events are new rows.
   * @param properties bucket property of bucket 0 of each of them.
   * @param values number of values that tell the directory.
   * @param isBucketed whether rows have the number of their bucket; else it is that of the task.
   */
  public BucketLayout(
      String place,
      TypeDescription schema,
      StructType columns,
      Configuration conf,
      long writeId,
      String only,
      String[] inserting,
      int[] properties,
      int values,
      boolean isBucketed) {
    this.place = place;
    this.schema = schema;
    this.columns = columns;
    this.conf = new SerializableConfiguration(conf);
    this.writeId = writeId;
    this.only = only;
    this.inserting = inserting;
    this.properties = properties;
    this.values = values;
    this.isBucketed = isBucketed;
  }
}
