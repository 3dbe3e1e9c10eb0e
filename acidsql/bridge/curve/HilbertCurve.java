package acidsql.curve;

import java.util.Arrays;

/**
 * Places of rows on a Hilbert curve through the range ids of some columns. Spark's generated
 * programs call the static methods for each row. {@code format/zorder.py} implements the same curve
 * in Python, and creates the bounds, ids and tables.
 */
public final class HilbertCurve {
  /** Returns the class that has the static methods. */
  public Class methods() {
    return HilbertCurve.class;
  }

  /** Parses numbers that are separated by commas. */
  public int[] ints(String text) {
    String[] parts = parts(text);
    int[] numbers = new int[parts.length];
    for (int i = 0; i < parts.length; i++) {
      numbers[i] = Integer.parseInt(parts[i]);
    }
    return numbers;
  }

  /** Parses numbers that are separated by commas. */
  public long[] longs(String text) {
    String[] parts = parts(text);
    long[] numbers = new long[parts.length];
    for (int i = 0; i < parts.length; i++) {
      numbers[i] = Long.parseLong(parts[i]);
    }
    return numbers;
  }

  /** Parses numbers that are separated by commas. */
  public double[] doubles(String text) {
    String[] parts = parts(text);
    double[] numbers = new double[parts.length];
    for (int i = 0; i < parts.length; i++) {
      numbers[i] = Double.parseDouble(parts[i]);
    }
    return numbers;
  }

  private static String[] parts(String text) {
    return text.isEmpty() ? new String[0] : text.split(",");
  }

  /** Returns the id of a number's range; bounds are the lowest numbers but of the first range. */
  public static int id(long[] bounds, int[] ids, long key) {
    return ids[range(Arrays.binarySearch(bounds, key))];
  }

  /** Returns the id of a number's range; NaN is above all other numbers. */
  public static int id(double[] bounds, int[] ids, double key) {
    return ids[range(Arrays.binarySearch(bounds, key))];
  }

  /** Returns the id of a text's range; the bounds have the text's class. */
  public static int id(Object[] bounds, int[] ids, Object key) {
    return ids[range(Arrays.binarySearch(bounds, key))];
  }

  private static int range(int found) {
    return found < 0 ? -1 - found : found + 1;
  }

  /**
   * Returns the place of a row.
   *
   * @param table steps of the curve ({@code hilbert_table})
   * @param columns number of columns, from 2 to 5; further ids are ignored
   * @param bits number of bits of an id
   */
  public static long place(
      int[] table, int columns, int bits, int a, int b, int c, int d, int e) {
    int state = 0;
    long place = 0;
    for (int bit = bits - 1; bit >= 0; bit--) {
      int step = a >> bit & 1 | (b >> bit & 1) << 1 | (c >> bit & 1) << 2 | (d >> bit & 1) << 3;
      step |= (e >> bit & 1) << 4;
      int found = table[state << columns | step];
      place = place << columns | found & (1 << columns) - 1;
      state = found >> columns;
    }
    return place;
  }
}
