import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.serde2.FetchFormatter;
import org.apache.hadoop.hive.serde2.objectinspector.ListObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.MapObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.StructField;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;

/**
 * A row as Hive's driver hands it out (list.sink.output.formatter): a list of values, each a text or
 * null; binary in hex; structs, arrays and maps as lists, a map's elements being [key, value].
 */
public class RowFormatter implements FetchFormatter<Object> {
  @Override
  public void initialize(Configuration conf, Properties properties) {
    // Nothing to set.
  }

  @Override
  public Object convert(Object row, ObjectInspector inspector) {
    return value(row, inspector);
  }

  @Override
  public void close() {
    // Nothing is open.
  }

  private static Object value(Object value, ObjectInspector inspector) {
    if (value == null) {
      return null;
    }
    switch (inspector.getCategory()) {
      case PRIMITIVE:
        Object plain = ((PrimitiveObjectInspector) inspector).getPrimitiveJavaObject(value);
        return plain instanceof byte[] ? HexFormat.of().formatHex((byte[]) plain) : plain.toString();
      case STRUCT:
        List<Object> fields = new ArrayList<>();
        StructObjectInspector struct = (StructObjectInspector) inspector;
        for (StructField field : struct.getAllStructFieldRefs()) {
          fields.add(value(struct.getStructFieldData(value, field), field.getFieldObjectInspector()));
        }
        return fields;
      case LIST:
        ListObjectInspector list = (ListObjectInspector) inspector;
        List<Object> elements = new ArrayList<>();
        for (Object element : list.getList(value)) {
          elements.add(value(element, list.getListElementObjectInspector()));
        }
        return elements;
      case MAP:
        MapObjectInspector map = (MapObjectInspector) inspector;
        List<Object> entries = new ArrayList<>();
        for (Map.Entry<?, ?> entry : map.getMap(value).entrySet()) {
          List<Object> pair = new ArrayList<>();
          pair.add(value(entry.getKey(), map.getMapKeyObjectInspector()));
          pair.add(value(entry.getValue(), map.getMapValueObjectInspector()));
          entries.add(pair);
        }
        return entries;
      default:
        throw new IllegalArgumentException(inspector.getTypeName());
    }
  }
}
