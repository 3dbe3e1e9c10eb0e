import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Client of Hive's JDBC driver: reads requests as JSON, one in a line, and answers each by one.
 *
 * <p>A request is an array: a word, the name of a connection, and arguments.
 */
public class JdbcClient {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, Connection> CONNECTIONS = new HashMap<>();

  public static void main(String[] args) throws Exception {
    Class.forName("org.apache.hive.jdbc.HiveDriver");
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      Map<String, Object> answer = new HashMap<>();
      try {
        answer.put("rows", answer(JSON.readTree(line)));
      } catch (SQLException error) {
        answer.put("message", String.valueOf(error.getMessage()));
        answer.put("state", error.getSQLState());
      }
      System.out.println(JSON.writeValueAsString(answer));
      System.out.flush();
    }
    System.exit(0);
  }

  private static Object answer(JsonNode request) throws SQLException, InterruptedException {
    String word = request.get(0).asText();
    String name = request.get(1).asText();
    if (word.equals("connect")) {
      String password = text(request, 4);
      Connection made =
          DriverManager.getConnection(text(request, 2), text(request, 3), password);
      CONNECTIONS.put(name, made);
      return null;
    }
    Connection connection = CONNECTIONS.get(name);
    switch (word) {
      case "close":
        connection.close();
        return null;
      case "execute":
        try (Statement statement = connection.createStatement()) {
          return rows(statement.execute(text(request, 2)) ? statement.getResultSet() : null);
        }
      case "prepared":
        try (PreparedStatement statement = connection.prepareStatement(text(request, 2))) {
          for (int i = 3; i < request.size(); i++) {
            statement.setString(i - 2, text(request, i));
          }
          return rows(statement.execute() ? statement.getResultSet() : null);
        }
      case "cancel":
        return cancelled(connection, text(request, 2), request.get(3).asLong());
      case "schemas":
        return rows(connection.getMetaData().getSchemas(null, text(request, 2)));
      case "tables":
        String[] types = text(request, 4) == null ? null : new String[] {text(request, 4)};
        return rows(
            connection.getMetaData().getTables(null, text(request, 2), text(request, 3), types));
      case "columns":
        String pattern = text(request, 4);
        return rows(
            connection.getMetaData().getColumns(null, text(request, 2), text(request, 3), pattern));
      case "primaryKeys":
        return rows(
            connection.getMetaData().getPrimaryKeys(null, text(request, 2), text(request, 3)));
      case "foreignKeys":
        return rows(
            connection
                .getMetaData()
                .getCrossReference(
                    null, text(request, 2), text(request, 3), null, text(request, 2),
                    text(request, 4)));
      default:
        throw new IllegalArgumentException(word);
    }
  }

  /** Cancels a statement some milliseconds after its begin; the error is that of the statement. */
  private static Object cancelled(Connection connection, String text, long milliseconds)
      throws SQLException, InterruptedException {
    try (Statement statement = connection.createStatement()) {
      Thread canceller = new Thread(() -> {
        try {
          Thread.sleep(milliseconds);
          statement.cancel();
        } catch (InterruptedException | SQLException error) {
          throw new IllegalStateException(error);
        }
      });
      canceller.start();
      try {
        return rows(statement.execute(text) ? statement.getResultSet() : null);
      } finally {
        canceller.join();
      }
    }
  }

  private static String text(JsonNode request, int position) {
    return request.hasNonNull(position) ? request.get(position).asText() : null;
  }

  private static List<List<String>> rows(ResultSet found) throws SQLException {
    List<List<String>> rows = new ArrayList<>();
    while (found != null && found.next()) {
      List<String> row = new ArrayList<>();
      for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
        row.add(found.getString(i));
      }
      rows.add(row);
    }
    return rows;
  }
}
