import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;
import org.apache.hadoop.hive.ql.processors.CommandProcessorException;

/**
 * Hive in this process, with the metastore of its hive-site.xml. Reads requests from standard input,
 * one JSON object a line, and answers each with one line: {"rows": …}, or {"error": …, "code": …}.
 *
 * <p>{"sql": "SELECT 1", "session": "main"} runs a statement; {"call": "commit", "arguments": ["7"],
 * …} does what MetastoreCalls has under that name. It ends with its standard input, however the
 * process that started it ended. The argument, if there is one, is a port on which it serves its
 * metastore to others.
 */
public class HiveServer {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, HiveSession> sessions = new HashMap<>();

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // Hive and its libraries print
    HiveServer server = new HiveServer();
    server.session("main");
    if (arguments.length > 0) {
      serveMetastore(Integer.parseInt(arguments[0]));
    }
    answers.println("{\"rows\":[]}");
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = requests.readLine()) != null; ) {
      answers.println(JSON.writeValueAsString(server.answer(JSON.readTree(line))));
    }
    Runtime.getRuntime().halt(0); // threads of Hive and Tez would keep it alive
  }

  private Map<String, Object> answer(JsonNode request) {
    Map<String, Object> answer = new LinkedHashMap<>();
    try {
      HiveSession session = session(request.get("session").asText());
      answer.put("rows", request.has("sql")
          ? session.run(request.get("sql").asText())
          : MetastoreCalls.call(request.get("call").asText(), texts(request.get("arguments"))));
    } catch (CommandProcessorException e) {
      answer.put("error", message(e));
      answer.put("code", e.getErrorCode() != 0 ? e.getErrorCode() : e.getResponseCode());
    } catch (Exception | Error e) { // an answer that fails must not end the server
      answer.put("error", message(e));
      answer.put("code", 0);
    }
    return answer;
  }

  private HiveSession session(String name) {
    // Two local Tez sessions in one process disturb each other: all but the first use MapReduce.
    HiveSession session = sessions.computeIfAbsent(
        name, n -> new HiveSession(sessions.isEmpty() ? null : "mr"));
    session.attach();
    return session;
  }

  private static void serveMetastore(int port) {
    Thread thread = new Thread(() -> {
      try {
        HiveMetaStore.startMetaStore(
            port, HadoopThriftAuthBridge.getBridge(), new HiveConf(HiveServer.class));
      } catch (Throwable e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(2);
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  private static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    array.forEach(element -> texts.add(element.asText()));
    return texts;
  }

  /** The messages of an error and its causes, each once. */
  private static String message(Throwable error) {
    List<String> parts = new ArrayList<>();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      String part = cause.getClass().getSimpleName() + ": " + cause.getMessage();
      if (!parts.contains(part)) {
        parts.add(part);
      }
    }
    return String.join(" <- ", parts);
  }
}
