package acidsql.orc;

import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DecimalColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.spark.sql.catalyst.util.RebaseDateTime;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Columns of a file as Spark vectors. */
final class Columns {
  private Columns() {}

  /**
   * Wraps an ORC vector as a Spark vector.
   *
   * @param declared type of the column in the table, which can contain CHAR or VARCHAR; a struct
   *     can have more fields than the query reads
   * @param type type that Spark reads
   * @param rows rows of the batch that the query returns
   */
  static FileColumn shown(
      DataType declared, DataType type, ColumnVector vector, Rows rows, Moments moments) {
    if (type instanceof DoubleType || type instanceof FloatType) {
      return new DoubleColumn(type, (DoubleColumnVector) vector, rows);
    } else if (type instanceof DecimalType) {
      return vector instanceof LongColumnVector
          ? (FileColumn) new ShortDecimalColumn(type, (LongColumnVector) vector, rows)
          : (FileColumn) new LongDecimalColumn(type, (DecimalColumnVector) vector, rows);
    } else if (type instanceof StringType || type instanceof BinaryType) {
      int length = declared instanceof CharType ? ((CharType) declared).length() : -1;
      return new BytesColumn(type, (BytesColumnVector) vector, rows, length);
    } else if (type instanceof DateType) {
      return new DateColumn(type, (LongColumnVector) vector, rows);
    } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return new TimestampColumn(type, (TimestampColumnVector) vector, rows, moments);
    } else if (type instanceof ArrayType) {
      DataType element = ((ArrayType) type).elementType();
      ListColumnVector list = (ListColumnVector) vector;
      DataType declaredElement = ((ArrayType) declared).elementType();
      return new ArrayColumn(
          type, list, rows, shown(declaredElement, element, list.child, Rows.ALL, moments));
    } else if (type instanceof MapType) {
      MapType map = (MapType) type;
      MapType declaredMap = (MapType) declared;
      MapColumnVector found = (MapColumnVector) vector;
      return new MapColumn(
          type,
          found,
          rows,
          shown(declaredMap.keyType(), map.keyType(), found.keys, Rows.ALL, moments),
          shown(declaredMap.valueType(), map.valueType(), found.values, Rows.ALL, moments));
    } else if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      StructType all = (StructType) declared;
      FileColumn[] shown = new FileColumn[fields.length];
      ColumnVector[] vectors = ((StructColumnVector) vector).fields;
      for (int i = 0; i < fields.length; i++) {
        DataType declaredField = all.apply(fields[i].name()).dataType();
        shown[i] = shown(declaredField, fields[i].dataType(), vectors[i], rows, moments);
      }
      return new StructColumn(type, vector, rows, shown);
    }
    return new LongColumn(type, (LongColumnVector) vector, rows);
  }

  /** Positions of the rows of a batch that the query returns. */
  static final class Rows {
    /** All rows, also for the elements of arrays and maps. */
    static final Rows ALL = new Rows();

    /** Positions in ascending order; null for all rows. */
    int[] positions;
  }

  /** Conversion of the times that ORC reads to instants. */
  static final class Moments {
    /** Time zone of the local times that ORC reads; null if ORC reads instants. */
    final ZoneId zone;

    Moments(ZoneId zone) {
      this.zone = zone;
    }

    /** Returns the instant of a local time; both are microseconds since 1970. */
    long of(long local) {
      long second = Math.floorDiv(local, 1000000L);
      LocalDateTime time = LocalDateTime.ofEpochSecond(second, 0, ZoneOffset.UTC);
      return time.atZone(zone).toEpochSecond() * 1000000L + (local - second * 1000000L);
    }

    /** Returns the local time of an instant; both are microseconds since 1970. */
    long localOf(long moment) {
      Instant second = Instant.ofEpochSecond(Math.floorDiv(moment, 1000000L));
      return moment + zone.getRules().getOffset(second).getTotalSeconds() * 1000000L;
    }
  }

  /** Column of a file. */
  abstract static class FileColumn extends org.apache.spark.sql.vectorized.ColumnVector {
    private final ColumnVector vector;
    private final Rows rows;

    FileColumn(DataType type, ColumnVector vector, Rows rows) {
      super(type);
      this.vector = vector;
      this.rows = rows;
    }

    /** Returns the position of a row in the vector. */
    final int at(int row) {
      if (vector.isRepeating) {
        return 0;
      }
      int[] positions = rows.positions;
      return positions == null ? row : positions[row];
    }

    public void close() {}

    public boolean hasNull() {
      return !vector.noNulls;
    }

    public int numNulls() {
      throw new UnsupportedOperationException();
    }

    public boolean isNullAt(int row) {
      return !vector.noNulls && vector.isNull[at(row)];
    }

    public boolean getBoolean(int row) {
      throw new UnsupportedOperationException();
    }

    public byte getByte(int row) {
      throw new UnsupportedOperationException();
    }

    public short getShort(int row) {
      throw new UnsupportedOperationException();
    }

    public int getInt(int row) {
      throw new UnsupportedOperationException();
    }

    public long getLong(int row) {
      throw new UnsupportedOperationException();
    }

    public float getFloat(int row) {
      throw new UnsupportedOperationException();
    }

    public double getDouble(int row) {
      throw new UnsupportedOperationException();
    }

    public Decimal getDecimal(int row, int precision, int scale) {
      throw new UnsupportedOperationException();
    }

    public UTF8String getUTF8String(int row) {
      throw new UnsupportedOperationException();
    }

    public byte[] getBinary(int row) {
      throw new UnsupportedOperationException();
    }

    public ColumnarArray getArray(int row) {
      throw new UnsupportedOperationException();
    }

    public ColumnarMap getMap(int row) {
      throw new UnsupportedOperationException();
    }

    public org.apache.spark.sql.vectorized.ColumnVector getChild(int ordinal) {
      throw new UnsupportedOperationException();
    }
  }

  /** Booleans and integers. */
  static final class LongColumn extends FileColumn {
    private final LongColumnVector values;

    LongColumn(DataType type, LongColumnVector values, Rows rows) {
      super(type, values, rows);
      this.values = values;
    }

    public boolean getBoolean(int row) {
      return values.vector[at(row)] == 1;
    }

    public byte getByte(int row) {
      return (byte) values.vector[at(row)];
    }

    public short getShort(int row) {
      return (short) values.vector[at(row)];
    }

    public int getInt(int row) {
      return (int) values.vector[at(row)];
    }

    public long getLong(int row) {
      return values.vector[at(row)];
    }
  }

  /** Days, which ORC stores in the hybrid Julian and Gregorian calendar. */
  static final class DateColumn extends FileColumn {
    private final LongColumnVector values;

    DateColumn(DataType type, LongColumnVector values, Rows rows) {
      super(type, values, rows);
      this.values = values;
    }

    public int getInt(int row) {
      return RebaseDateTime.rebaseJulianToGregorianDays((int) values.vector[at(row)]);
    }
  }

  /** Instants or local times. */
  static final class TimestampColumn extends FileColumn {
    private static final long DAY = 86400000000L; // microseconds
    private final TimestampColumnVector values;
    private final Moments moments;
    private final boolean isLocal;
    private final boolean isInstant;

    TimestampColumn(DataType type, TimestampColumnVector values, Rows rows, Moments moments) {
      super(type, values, rows);
      this.values = values;
      this.moments = moments;
      this.isLocal = type instanceof TimestampNTZType;
      this.isInstant = values instanceof Vectors.InstantVector;
    }

    public long getLong(int row) {
      int position = at(row);
      long micros = values.time[position] * 1000 + values.nanos[position] / 1000 % 1000;
      if (moments.zone == null) {
        return RebaseDateTime.rebaseJulianToGregorianMicros(micros);
      }
      long day = Math.floorDiv(micros, DAY);
      long local =
          RebaseDateTime.rebaseJulianToGregorianDays((int) day) * DAY + (micros - day * DAY);
      if (isInstant) {
        return isLocal ? moments.localOf(local) : local;
      }
      return isLocal ? local : moments.of(local);
    }
  }

  /** Floating-point numbers. */
  static final class DoubleColumn extends FileColumn {
    private final DoubleColumnVector values;

    DoubleColumn(DataType type, DoubleColumnVector values, Rows rows) {
      super(type, values, rows);
      this.values = values;
    }

    public float getFloat(int row) {
      return (float) values.vector[at(row)];
    }

    public double getDouble(int row) {
      return values.vector[at(row)];
    }
  }

  /** Decimals of up to 18 digits, as unscaled numbers. */
  static final class ShortDecimalColumn extends FileColumn {
    private final LongColumnVector values;

    ShortDecimalColumn(DataType type, LongColumnVector values, Rows rows) {
      super(type, values, rows);
      this.values = values;
    }

    public Decimal getDecimal(int row, int precision, int scale) {
      return isNullAt(row)
          ? null
          : Decimal.createUnsafe(values.vector[at(row)], precision, scale);
    }
  }

  /** Decimals. */
  static final class LongDecimalColumn extends FileColumn {
    private final DecimalColumnVector values;

    LongDecimalColumn(DataType type, DecimalColumnVector values, Rows rows) {
      super(type, values, rows);
      this.values = values;
    }

    public Decimal getDecimal(int row, int precision, int scale) {
      return isNullAt(row)
          ? null
          : Decimal.apply(
              values.vector[at(row)].getHiveDecimal().bigDecimalValue(), precision, scale);
    }
  }

  /** Strings and binary values. */
  static final class BytesColumn extends FileColumn {
    private static final UTF8String BLANK = UTF8String.fromString(" ");
    private final BytesColumnVector values;
    private final int length; // of a CHAR, which is padded with blanks; otherwise -1

    BytesColumn(DataType type, BytesColumnVector values, Rows rows, int length) {
      super(type, values, rows);
      this.values = values;
      this.length = length;
    }

    public UTF8String getUTF8String(int row) {
      if (isNullAt(row)) {
        return null;
      }
      int position = at(row);
      UTF8String found =
          UTF8String.fromBytes(
              values.vector[position], values.start[position], values.length[position]);
      return length < 0 ? found : found.rpad(length, BLANK);
    }

    public byte[] getBinary(int row) {
      if (isNullAt(row)) {
        return null;
      }
      int position = at(row);
      int start = values.start[position];
      return Arrays.copyOfRange(values.vector[position], start, start + values.length[position]);
    }
  }

  /** Structs. */
  static final class StructColumn extends FileColumn {
    private final FileColumn[] fields;

    StructColumn(DataType type, ColumnVector vector, Rows rows, FileColumn[] fields) {
      super(type, vector, rows);
      this.fields = fields;
    }

    public org.apache.spark.sql.vectorized.ColumnVector getChild(int ordinal) {
      return fields[ordinal];
    }
  }

  /** Arrays. */
  static final class ArrayColumn extends FileColumn {
    private final ListColumnVector lists;
    private final FileColumn elements;

    ArrayColumn(DataType type, ListColumnVector lists, Rows rows, FileColumn elements) {
      super(type, lists, rows);
      this.lists = lists;
      this.elements = elements;
    }

    public ColumnarArray getArray(int row) {
      if (isNullAt(row)) {
        return null;
      }
      int position = at(row);
      return new ColumnarArray(
          elements, (int) lists.offsets[position], (int) lists.lengths[position]);
    }
  }

  /** Maps. */
  static final class MapColumn extends FileColumn {
    private final MapColumnVector maps;
    private final FileColumn keys;
    private final FileColumn items;

    MapColumn(DataType type, MapColumnVector maps, Rows rows, FileColumn keys, FileColumn items) {
      super(type, maps, rows);
      this.maps = maps;
      this.keys = keys;
      this.items = items;
    }

    public ColumnarMap getMap(int row) {
      if (isNullAt(row)) {
        return null;
      }
      int position = at(row);
      return new ColumnarMap(
          keys, items, (int) maps.offsets[position], (int) maps.lengths[position]);
    }
  }
}
