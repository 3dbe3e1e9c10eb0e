import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local file system without child processes: Hadoop's, where it has no native code, starts chmod and
 * ls for permissions, thousands of times in a test.
 */
public class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new Raw());
    }

    private static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            String letters = permission.toString();
            Files.setPosixFilePermissions(
                    pathToFile(path).toPath(), PosixFilePermissions.fromString(letters.substring(0, 9)));
        }

        @Override
        public FileStatus getFileStatus(Path path) throws IOException {
            return told(super.getFileStatus(path));
        }

        @Override
        public FileStatus[] listStatus(Path path) throws IOException {
            FileStatus[] found = super.listStatus(path);
            for (int i = 0; i < found.length; i++) {
                found[i] = told(found[i]);
            }
            return found;
        }

        /** A status that knows its permission. */
        private FileStatus told(FileStatus status) throws IOException {
            java.nio.file.Path path = pathToFile(status.getPath()).toPath();
            String letters = PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
            return new FileStatus(
                    status.getLen(),
                    status.isDirectory(),
                    status.getReplication(),
                    status.getBlockSize(),
                    status.getModificationTime(),
                    status.getAccessTime(),
                    FsPermission.valueOf((status.isDirectory() ? "d" : "-") + letters),
                    Files.getOwner(path).getName(),
                    "tests",
                    status.getPath());
        }
    }
}
