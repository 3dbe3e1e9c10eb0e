import com.google.gson.GsonBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.metastore.HiveMetaStore;

/**
 * A metastore server that ends when its standard input does, however the process that started it
 * ended. Until then each line of it is a statement that runs in the server's own database, which
 * nobody else can open; the answer is a line of JSON.
 */
public class Launcher {
    private static final PrintStream ANSWERS = System.out;

    public static void main(String[] arguments) throws Throwable {
        System.setOut(System.err);
        String database = System.getProperty("launcher.database");
        Thread control = new Thread(() -> listen(database));
        control.setDaemon(true);
        control.start();
        HiveMetaStore.main(arguments);
    }

    private static void listen(String database) {
        try {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Object answer;
                try {
                    answer = Map.of("rows", run(database, line));
                } catch (SQLException error) {
                    answer = Map.of("error", String.valueOf(error.getMessage()));
                }
                ANSWERS.println(new GsonBuilder().serializeNulls().create().toJson(answer));
                ANSWERS.flush();
            }
        } catch (java.io.IOException closed) {
            // The same as its end.
        }
        Runtime.getRuntime().halt(0);
    }

    private static List<List<Object>> run(String database, String sql) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection("jdbc:derby:" + database);
                Statement statement = connection.createStatement()) {
            if (statement.execute(sql)) {
                ResultSet results = statement.getResultSet();
                while (results.next()) {
                    List<Object> row = new ArrayList<>();
                    for (int i = 1; i <= results.getMetaData().getColumnCount(); i++) {
                        Object value = results.getObject(i);
                        row.add(value instanceof Number ? value : results.getString(i));
                    }
                    rows.add(row);
                }
            }
        }
        return rows;
    }
}
