package acidsql.writer;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * What the tasks of a write job need to know. The columns of their rows are five of an event, those
 * of the table, the name of the target, the values that determine the directory, and the bucket.
 */
public final class BucketLayout implements Serializable {
  // What the names of targets begin with.
  static final String INSERT = "i";
  static final String DELETE = "d";
  static final String UPDATE = "u"; // the same event deletes a row and is the new one
  final String place;
  final TypeDescription schema;
  final TypeDescription keySchema;
  final StructType columns;
  final SerializableConfiguration conf;
  final long writeId;
  final String only;
  final String[] inserting;
  final int[] properties;
  final int values;
  final boolean isBucketed;
  final boolean stagesKeys;

  /**
   * @param place directory to write to.
   * @param schema of the files.
   * @param keySchema of files with only keys.
   * @param columns the table's columns that rows have.
   * @param conf has the settings of ORC's writer.
   * @param writeId of new rows.
   * @param only the target of all events, or null if rows have its name.
   * @param inserting names of the targets whose events are new rows.
   * @param properties bucket property of bucket 0 of each of them.
   * @param values number of values that determine the directory.
   * @param isBucketed whether rows have the number of their bucket; else it is that of the task.
   * @param stagesKeys whether the keys that events delete go into a file for each target, in any
   *     order and of all places.
   */
  public BucketLayout(
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
    this.place = place;
    this.schema = schema;
    this.keySchema = keySchema;
    this.columns = columns;
    this.conf = new SerializableConfiguration(conf);
    this.writeId = writeId;
    this.only = only;
    this.inserting = inserting;
    this.properties = properties;
    this.values = values;
    this.isBucketed = isBucketed;
    this.stagesKeys = stagesKeys;
  }
}
