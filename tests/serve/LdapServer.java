import com.unboundid.ldap.listener.InMemoryDirectoryServer;
import com.unboundid.ldap.listener.InMemoryDirectoryServerConfig;
import com.unboundid.ldap.listener.InMemoryListenerConfig;
import com.unboundid.util.ssl.KeyStoreKeyManager;
import com.unboundid.util.ssl.SSLUtil;
import java.net.InetAddress;

/** LDAP server with TLS and one person, which prints its address and ends with its input. */
public class LdapServer {
  public static void main(String[] args) throws Exception {
    KeyStoreKeyManager keys =
        new KeyStoreKeyManager(args[0], args[1].toCharArray(), "PKCS12", null);
    InMemoryDirectoryServerConfig config = new InMemoryDirectoryServerConfig("dc=example,dc=org");
    config.setSchema(null);
    config.setListenerConfigs(
        InMemoryListenerConfig.createLDAPSConfig(
            "ldaps",
            InetAddress.getLoopbackAddress(),
            0,
            new SSLUtil(keys, null).createSSLServerSocketFactory(),
            null));
    InMemoryDirectoryServer server = new InMemoryDirectoryServer(config);
    server.add("dn: dc=example,dc=org", "objectClass: domain", "dc: example");
    String password = "userPassword: " + args[2];
    server.add("dn: uid=anna,dc=example,dc=org", "objectClass: person", "uid: anna", password);
    server.startListening();
    System.out.println("ldaps://localhost:" + server.getListenPort());
    System.out.flush();
    System.in.read();
    server.shutDown(true);
  }
}
