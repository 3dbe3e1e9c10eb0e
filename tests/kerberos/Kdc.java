import java.io.File;
import java.util.Arrays;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;

/**
 * A KDC on loopback that ends when its standard input does: realm, port, directory, principals.
 * Each principal gets a keytab, named after the first part of it.
 */
public class Kdc {
    public static void main(String[] arguments) throws Exception {
        String realm = arguments[0];
        File home = new File(arguments[2]);
        SimpleKdcServer server = new SimpleKdcServer();
        server.setWorkDir(home);
        server.setKdcRealm(realm);
        server.setKdcHost("127.0.0.1");
        server.setAllowUdp(false);
        server.setKdcTcpPort(Integer.parseInt(arguments[1]));
        server.init();
        for (String name : Arrays.asList(arguments).subList(3, arguments.length)) {
            String principal = name + "@" + realm;
            server.createPrincipal(principal);
            server.exportPrincipal(principal, new File(home, name.split("/")[0] + ".keytab"));
        }
        server.start();
        System.out.println("ready");
        System.in.read();
        server.stop();
        System.exit(0);
    }
}
