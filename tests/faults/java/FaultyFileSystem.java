import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** Local file system one of whose operations fails, before or after it was done. */
public class FaultyFileSystem extends RawLocalFileSystem {
    private static String operation = "";
    private static int left;
    private static boolean afterwards;
    private static boolean struck;
    private URI uri;

    /** Have the n-th next operation of a name fail. */
    public static synchronized void arm(String name, int number, boolean after) {
        operation = name;
        left = number;
        afterwards = after;
        struck = false;
    }

    /** Have nothing fail any more; whether something did. */
    public static synchronized boolean disarm() {
        operation = "";
        return struck;
    }

    private static synchronized void pass(String name, boolean after) throws IOException {
        if (name.equals(operation) && after == afterwards && left-- == 0) {
            operation = "";
            struck = true;
            throw new IOException("injected: " + name + (after ? " failed, and was done" : " failed"));
        }
    }

    @Override
    public void initialize(URI name, Configuration conf) throws IOException {
        uri = URI.create(name.getScheme() + ":///");
        super.initialize(name, conf);
    }

    @Override
    public URI getUri() {
        return uri == null ? URI.create("file:///") : uri; // asked by the constructor above
    }

    @Override
    public String getScheme() {
        return getUri().getScheme();
    }

    @Override
    public FSDataOutputStream create(
            Path path, FsPermission permission, boolean overwrite, int buffer, short replication,
            long block, Progressable progress) throws IOException {
        pass("create", false);
        FSDataOutputStream made =
                super.create(path, permission, overwrite, buffer, replication, block, progress);
        return passing(made, "create");
    }

    @Override
    public FSDataOutputStream create(
            Path path, boolean overwrite, int buffer, short replication, long block,
            Progressable progress) throws IOException {
        pass("create", false); // ORC's writer comes this way, past the method above
        return passing(
                super.create(path, overwrite, buffer, replication, block, progress), "create");
    }

    @Override
    public FSDataOutputStream append(Path path, int buffer, Progressable progress)
            throws IOException {
        pass("append", false);
        return passing(super.append(path, buffer, progress), "append");
    }

    private static FSDataOutputStream passing(FSDataOutputStream made, String name)
            throws IOException {
        try {
            pass(name, true);
        } catch (IOException error) {
            made.close();
            throw error;
        }
        return new FSDataOutputStream(new PassingStream(made), null, made.getPos());
    }

    @Override
    public FSDataInputStream open(Path path, int buffer) throws IOException {
        pass("open", false);
        return super.open(path, buffer);
    }

    @Override
    public boolean rename(Path source, Path target) throws IOException {
        pass("rename", false);
        boolean done = super.rename(source, target);
        pass("rename", true);
        return done;
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        pass("delete", false);
        boolean done = super.delete(path, recursive);
        pass("delete", true);
        return done;
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        pass("mkdirs", false);
        boolean done = super.mkdirs(path);
        pass("mkdirs", true);
        return done;
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        pass("mkdirs", false);
        boolean done = super.mkdirs(path, permission);
        pass("mkdirs", true);
        return done;
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        pass("list", false);
        return super.listStatus(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        pass("status", false);
        return super.getFileStatus(path);
    }

    private static final class PassingStream extends FilterOutputStream {
        private boolean closed;

        PassingStream(OutputStream inner) {
            super(inner);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            pass("write", false);
            out.write(bytes, offset, length);
            pass("write", true);
        }

        @Override
        public void close() throws IOException {
            if (closed) {
                return;
            }
            closed = true;
            try {
                pass("close", false);
            } finally {
                out.close();
            }
            pass("close", true);
        }
    }
}
