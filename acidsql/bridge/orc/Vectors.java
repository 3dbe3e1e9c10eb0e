package acidsql.orc;

import java.util.List;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DateColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.Decimal64ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DecimalColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VarcharType;

/** ORC types and vectors for the columns of a table. */
final class Vectors {
  private Vectors() {}

  /**
   * Returns the type that ORC reads a column as.
   *
   * @param type type of the column in the table; CHAR and VARCHAR are read as strings
   * @param file type of the column in the file, which distinguishes instants from local times; null
   *     if the file lacks the column
   */
  static TypeDescription orcType(DataType type, TypeDescription file) {
    if (type instanceof BooleanType) {
      return TypeDescription.createBoolean();
    } else if (type instanceof ByteType) {
      return TypeDescription.createByte();
    } else if (type instanceof ShortType) {
      return TypeDescription.createShort();
    } else if (type instanceof IntegerType) {
      return TypeDescription.createInt();
    } else if (type instanceof LongType) {
      return TypeDescription.createLong();
    } else if (type instanceof FloatType) {
      return TypeDescription.createFloat();
    } else if (type instanceof DoubleType) {
      return TypeDescription.createDouble();
    } else if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      // The scale comes first, because ORC starts with (38, 10) and checks each change.
      return TypeDescription.createDecimal()
          .withScale(0)
          .withPrecision(decimal.precision())
          .withScale(decimal.scale());
    } else if (type instanceof BinaryType) {
      return TypeDescription.createBinary();
    } else if (type instanceof DateType) {
      return TypeDescription.createDate();
    } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return file != null && file.getCategory() == TypeDescription.Category.TIMESTAMP_INSTANT
          ? TypeDescription.createTimestampInstant()
          : TypeDescription.createTimestamp();
    } else if (type instanceof StringType
        || type instanceof CharType
        || type instanceof VarcharType) {
      return TypeDescription.createString();
    } else if (type instanceof ArrayType) {
      return TypeDescription.createList(
          orcType(((ArrayType) type).elementType(), child(file, 0)));
    } else if (type instanceof MapType) {
      MapType map = (MapType) type;
      return TypeDescription.createMap(
          orcType(map.keyType(), child(file, 0)), orcType(map.valueType(), child(file, 1)));
    } else if (type instanceof StructType) {
      TypeDescription struct = TypeDescription.createStruct();
      StructField[] fields = ((StructType) type).fields();
      for (int i = 0; i < fields.length; i++) {
        String name = fields[i].name();
        struct.addField(name, orcType(fields[i].dataType(), field(file, name)));
      }
      return struct;
    }
    throw new IllegalArgumentException("ORC has no type for " + type.sql());
  }

  /** Returns whether ORC reads a column of one type as the other type without a conversion. */
  static boolean isSame(TypeDescription one, TypeDescription other) {
    if (one.getCategory() != other.getCategory()) {
      return false;
    }
    if (one.getCategory() == TypeDescription.Category.DECIMAL) {
      return one.getPrecision() == other.getPrecision() && one.getScale() == other.getScale();
    }
    return true;
  }

  /**
   * Creates the vector into which ORC reads a column.
   *
   * @param type type that ORC reads the column as
   * @param file type of the column in the file; null if the file lacks the column
   * @param isCompared whether ORC compares the column, for which it supports only one of its
   *     decimal vectors
   */
  static ColumnVector newVector(
      TypeDescription type, TypeDescription file, boolean isCompared, int size) {
    List children = type.getChildren();
    switch (type.getCategory()) {
      case BOOLEAN:
      case BYTE:
      case SHORT:
      case INT:
      case LONG:
        return new LongColumnVector(size);
      case DATE:
        return new DateColumnVector(size);
      case FLOAT:
      case DOUBLE:
        return new DoubleColumnVector(size);
      case TIMESTAMP:
        return new TimestampColumnVector(size);
      case TIMESTAMP_INSTANT:
        return new InstantVector(size);
      case DECIMAL:
        int precision = type.getPrecision();
        // A conversion needs the vector that all ORC converters support.
        return file != null && !isCompared && precision <= 18 && isSame(type, file)
            ? (ColumnVector) new Decimal64ColumnVector(size, precision, type.getScale())
            : (ColumnVector) new DecimalColumnVector(size, precision, type.getScale());
      case STRUCT:
        ColumnVector[] fields = new ColumnVector[children.size()];
        for (int i = 0; i < fields.length; i++) {
          String name = (String) type.getFieldNames().get(i);
          fields[i] = newVector((TypeDescription) children.get(i), field(file, name), false, size);
        }
        return new StructColumnVector(size, fields);
      case LIST:
        TypeDescription element = (TypeDescription) children.get(0);
        return new ListColumnVector(size, newVector(element, child(file, 0), false, size));
      case MAP:
        return new MapColumnVector(
            size,
            newVector((TypeDescription) children.get(0), child(file, 0), false, size),
            newVector((TypeDescription) children.get(1), child(file, 1), false, size));
      default:
        return new BytesColumnVector(size);
    }
  }

  /** Instants, read in UTC. */
  static final class InstantVector extends TimestampColumnVector {
    InstantVector(int size) {
      super(size);
    }
  }

  private static TypeDescription child(TypeDescription file, int index) {
    List children = file == null ? null : file.getChildren();
    return children == null || index >= children.size()
        ? null
        : (TypeDescription) children.get(index);
  }

  private static TypeDescription field(TypeDescription file, String name) {
    if (file == null || file.getCategory() != TypeDescription.Category.STRUCT) {
      return null;
    }
    List names = file.getFieldNames();
    // The last of several names that differ only in case, as ORC does it.
    for (int i = names.size() - 1; i >= 0; i--) {
      if (name.equalsIgnoreCase((String) names.get(i))) {
        return child(file, i);
      }
    }
    return null;
  }

  /**
   * Resets a vector and its nested vectors.
   *
   * <p>ORC resets the columns of a file, but not all nested vectors. State of an earlier batch, for
   * example that all of its strings were the same, would then apply to the next batch.
   */
  static void reset(ColumnVector vector) {
    vector.reset();
    if (vector instanceof StructColumnVector) {
      ColumnVector[] fields = ((StructColumnVector) vector).fields;
      for (int i = 0; i < fields.length; i++) {
        reset(fields[i]);
      }
    } else if (vector instanceof ListColumnVector) {
      reset(((ListColumnVector) vector).child);
    } else if (vector instanceof MapColumnVector) {
      reset(((MapColumnVector) vector).keys);
      reset(((MapColumnVector) vector).values);
    }
  }
}
