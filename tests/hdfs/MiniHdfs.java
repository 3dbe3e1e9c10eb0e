import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * A name node and a data node on loopback, in one process.
 *
 * <p>Argument: an empty directory for their data. Prints the address of the REST interface and then
 * the file system's URI when it can be used, and runs until standard input ends, so that it never outlives the process that started it.
 */
public final class MiniHdfs {
  private MiniHdfs() {}

  public static void main(String[] arguments) throws IOException {
    Configuration configuration = new Configuration();
    configuration.setBoolean("dfs.permissions.enabled", false);
    configuration.setInt("dfs.replication", 1);
    // Small blocks let a small file have several.
    configuration.setLong("dfs.namenode.fs-limits.min-block-size", 4096);
    Path directory = Path.of(arguments[0]);
    try (MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(configuration, directory.toFile()).numDataNodes(1).build()) {
      cluster.waitActive();
      System.out.println("http://localhost:" + cluster.getNameNode().getHttpAddress().getPort());
      System.out.println(cluster.getURI());
      while (System.in.read() >= 0) {
        // nothing is said on standard input: its end is the signal
      }
    }
  }
}
