package acidsql.writer;

import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Parameters of the tasks of a write job. Their rows have five columns of an event, the table's
 * columns, the name of the target, the values that determine the directory, and the bucket.
 */
public final class BucketLayout implements Serializable {
  // First letters of the names of targets.
  static final String INSERT = "i";
  static final String DELETE = "d";
  static final String UPDATE = "u"; // each event deletes a row and also contains the new row
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
   * @param schema schema of the files.
   * @param keySchema schema of files that contain only keys.
   * @param columns the table's columns in the rows.
   * @param conf settings of ORC's writer.
   * @param writeId write id of new rows.
   * @param only the target of all events, or null if each row contains the name of its target.
   * @param inserting names of the targets whose events are new rows.
   * @param properties for each of these targets, the bucket property of bucket 0.
   * @param values number of values that determine the directory.
   * @param isBucketed whether rows contain their bucket number; otherwise it is the task's number.
   * @param stagesKeys whether the keys of deleted rows go into one file per target, in any order
   *     and for all places.
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
