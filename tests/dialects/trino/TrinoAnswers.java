import com.fasterxml.jackson.databind.ObjectMapper;
import io.trino.Session;
import io.trino.spi.type.SqlTimestampWithTimeZone;
import io.trino.spi.type.SqlVarbinary;
import io.trino.spi.type.TimeZoneKey;
import io.trino.testing.LocalQueryRunner;
import io.trino.testing.MaterializedResult;
import io.trino.testing.MaterializedRow;
import io.trino.testing.TestingSession;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Trino's engine in this process, without a server. Reads queries from standard input, a JSON string
 * a line, and answers each with one line: its rows, or {"error": …}.
 */
public class TrinoAnswers {
  public static void main(String[] arguments) throws Exception {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    ObjectMapper json = new ObjectMapper();
    Session session = TestingSession.testSessionBuilder()
        .setTimeZoneKey(TimeZoneKey.UTC_KEY).build();
    try (LocalQueryRunner trino = LocalQueryRunner.create(session)) {
      BufferedReader queries =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line; (line = queries.readLine()) != null; ) {
        Object answer;
        try {
          answer = rows(trino.execute(json.readValue(line, String.class)));
        } catch (RuntimeException e) {
          answer = Map.of("error", String.valueOf(e.getMessage()));
        }
        answers.println(json.writeValueAsString(answer));
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private static List<Object> rows(MaterializedResult result) {
    List<Object> rows = new ArrayList<>();
    for (MaterializedRow row : result) {
      rows.add(texts(row.getFields()));
    }
    return rows;
  }

  private static List<Object> texts(List<?> values) {
    List<Object> texts = new ArrayList<>();
    values.forEach(value -> texts.add(text(value)));
    return texts;
  }

  /** Lists for arrays, rows and the entries of maps; truth values; texts of all else. */
  private static Object text(Object value) {
    if (value instanceof List) {
      return texts((List<?>) value);
    }
    if (value instanceof MaterializedRow) {
      return texts(((MaterializedRow) value).getFields());
    }
    if (value instanceof Map) {
      List<Object> entries = new ArrayList<>();
      ((Map<?, ?>) value).forEach((k, v) -> entries.add(Arrays.asList(text(k), text(v))));
      return entries;
    }
    if (value instanceof SqlVarbinary) {
      return HexFormat.of().formatHex(((SqlVarbinary) value).getBytes());
    }
    if (value instanceof SqlTimestampWithTimeZone) {
      return value.toString().replaceFirst(" UTC$", "");
    }
    return value == null || value instanceof Boolean ? value : value.toString();
  }
}
