import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.streaming.HiveStreamingConnection;
import org.apache.hive.streaming.StreamingConnection;
import org.apache.hive.streaming.StrictDelimitedInputWriter;

/**
 * Writes lines of a file to a table, again and again, by Hive's own streaming client.
 *
 * <p>Arguments: URI of the metastore, table in the database {@code default}, file of records with
 * commas between their fields, rows of a transaction, transactions of a round, transactions of a
 * batch, rounds. Prints the seconds of each round, and then the greatest resident size of the
 * process in kB, each on a line.
 */
public final class HiveStreamingIngest {
  private HiveStreamingIngest() {}

  public static void main(String[] arguments) throws Exception {
    List<byte[]> records = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(arguments[2]))) {
      records.add(line.getBytes(StandardCharsets.UTF_8));
    }
    int rows = Integer.parseInt(arguments[3]);
    int transactions = Integer.parseInt(arguments[4]);
    HiveConf settings = new HiveConf();
    settings.set("hive.metastore.uris", arguments[0]);
    settings.set("metastore.thrift.uris", arguments[0]);
    StreamingConnection connection =
        HiveStreamingConnection.newBuilder()
            .withDatabase("default")
            .withTable(arguments[1])
            .withAgentInfo("tpcds_bench")
            .withTransactionBatchSize(Integer.parseInt(arguments[5]))
            .withRecordWriter(
                StrictDelimitedInputWriter.newBuilder().withFieldDelimiter(',').build())
            .withHiveConf(settings)
            .connect();
    try {
      for (int round = 0; round < Integer.parseInt(arguments[6]); round++) {
        long begun = System.nanoTime();
        for (int transaction = 0; transaction < transactions; transaction++) {
          connection.beginTransaction();
          for (int row = 0; row < rows; row++) {
            connection.write(records.get(row % records.size()));
          }
          connection.commitTransaction();
        }
        System.out.println((System.nanoTime() - begun) / 1e9);
      }
    } finally {
      connection.close();
    }
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        System.out.println(line.replaceAll("[^0-9]", ""));
      }
    }
    System.exit(0);
  }
}
