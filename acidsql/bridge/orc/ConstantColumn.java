package acidsql.orc;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Column with the same value in all rows: a partition value, an initial value, or NULL. */
final class ConstantColumn extends ColumnVector {
  private final Object value; // in Spark's internal format; null for NULL

  ConstantColumn(DataType type, Object value) {
    super(type);
    this.value = value;
  }

  public void close() {}

  public boolean hasNull() {
    return value == null;
  }

  public int numNulls() {
    throw new UnsupportedOperationException();
  }

  public boolean isNullAt(int row) {
    return value == null;
  }

  public boolean getBoolean(int row) {
    return ((Boolean) value).booleanValue();
  }

  public byte getByte(int row) {
    return ((Number) value).byteValue();
  }

  public short getShort(int row) {
    return ((Number) value).shortValue();
  }

  public int getInt(int row) {
    return ((Number) value).intValue();
  }

  public long getLong(int row) {
    return ((Number) value).longValue();
  }

  public float getFloat(int row) {
    return ((Number) value).floatValue();
  }

  public double getDouble(int row) {
    return ((Number) value).doubleValue();
  }

  public Decimal getDecimal(int row, int precision, int scale) {
    return (Decimal) value;
  }

  public UTF8String getUTF8String(int row) {
    return (UTF8String) value;
  }

  public byte[] getBinary(int row) {
    return (byte[]) value;
  }

  public ColumnarArray getArray(int row) {
    return null; // only for columns that files lack, because no partition has nested values
  }

  public ColumnarMap getMap(int row) {
    return null;
  }

  /** Only NULL can have fields, and no reader uses them. */
  public ColumnVector getChild(int ordinal) {
    return new ConstantColumn(
        ((org.apache.spark.sql.types.StructType) dataType()).fields()[ordinal].dataType(), null);
  }
}
