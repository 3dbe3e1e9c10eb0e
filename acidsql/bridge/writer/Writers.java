package acidsql.writer;

import java.io.IOException;
import java.util.List;
import java.util.PrimitiveIterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.types.StructType;

/**
 * Creates the objects of this package for Python. If Python used class names, py4j would look for
 * them in the class loader of the calling thread, which may not have them.
 */
public final class Writers {
  /** Creates the write of a job, with the arguments of a layout. */
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

  /**
   * Returns a type where some timestamps are instants.
   *
   * @param instants for each timestamp, in order: {@code 1} for an instant, otherwise {@code 0}
   */
  public TypeDescription withInstants(TypeDescription type, String instants) {
    return withInstants(type, instants.chars().iterator());
  }

  private static TypeDescription withInstants(TypeDescription type, PrimitiveIterator.OfInt left) {
    List children = type.getChildren();
    TypeDescription made;
    switch (type.getCategory()) {
      case TIMESTAMP:
        made =
            left.nextInt() == '1'
                ? TypeDescription.createTimestampInstant()
                : TypeDescription.createTimestamp();
        break;
      case STRUCT:
        made = TypeDescription.createStruct();
        for (int i = 0; i < children.size(); i++) {
          TypeDescription child = withInstants((TypeDescription) children.get(i), left);
          made.addField((String) type.getFieldNames().get(i), child);
        }
        break;
      case LIST:
        made = TypeDescription.createList(withInstants((TypeDescription) children.get(0), left));
        break;
      case MAP:
        TypeDescription key = withInstants((TypeDescription) children.get(0), left);
        made = TypeDescription.createMap(key, withInstants((TypeDescription) children.get(1), left));
        break;
      default:
        return type.clone();
    }
    for (Object name : type.getAttributeNames()) {
      made.setAttribute((String) name, type.getAttributeValue((String) name));
    }
    return made;
  }

  /** Creates a file in memory. */
  public BucketFile file(TypeDescription schema, StructType columns, Configuration conf)
      throws IOException {
    return new BucketFile(null, schema, columns, conf);
  }
}
