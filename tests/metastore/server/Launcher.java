import java.io.IOException;

/** A metastore server that ends when its standard input does, however the process that started it ended. */
public class Launcher {
    public static void main(String[] arguments) throws Throwable {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                }
            } catch (IOException closed) {
                // The same: nobody is there any more.
            }
            Runtime.getRuntime().halt(0);
        });
        watch.setDaemon(true);
        watch.start();
        org.apache.hadoop.hive.metastore.HiveMetaStore.main(arguments);
    }
}
