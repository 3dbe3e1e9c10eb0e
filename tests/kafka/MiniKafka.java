import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/**
 * A broker of Kafka on loopback, which is its own controller (KRaft).
 *
 * <p>Argument: an empty directory for its data. Prints its address when it can be used, and runs
 * until standard input ends, so that it never outlives the process that started it.
 */
public final class MiniKafka {
  private MiniKafka() {}

  public static void main(String[] arguments) throws IOException {
    Path directory = Path.of(arguments[0]);
    String broker = "localhost:" + freePort();
    String controller = "localhost:" + freePort();
    Properties settings = new Properties();
    settings.setProperty("process.roles", "broker,controller");
    settings.setProperty("node.id", "1");
    settings.setProperty("controller.quorum.voters", "1@" + controller);
    settings.setProperty("controller.listener.names", "CONTROLLER");
    settings.setProperty("listeners", "PLAINTEXT://" + broker + ",CONTROLLER://" + controller);
    settings.setProperty("log.dirs", directory.toString());
    settings.setProperty("num.partitions", "2");
    settings.setProperty("offsets.topic.replication.factor", "1");
    settings.setProperty("transaction.state.log.replication.factor", "1");
    Path file = Files.createTempFile("kafka", ".properties");
    try (var written = Files.newOutputStream(file)) {
      settings.store(written, null);
    }
    String[] format = {
      "format", "--cluster-id", Uuid.randomUuid().toString(), "--config", file.toString()
    };
    int result = StorageTool.execute(format, System.err);
    Files.delete(file);
    if (result != 0) {
      System.exit(result);
    }
    KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(settings), Time.SYSTEM);
    server.startup();
    System.out.println("kafka://" + broker);
    while (System.in.read() >= 0) {
      // nothing is said on standard input: its end is the signal
    }
    // A proper shutdown takes seconds, and nobody needs the data any more.
    Runtime.getRuntime().halt(0);
  }

  private static int freePort() throws IOException {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return free.getLocalPort();
    }
  }
}
