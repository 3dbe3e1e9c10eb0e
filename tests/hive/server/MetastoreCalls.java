import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.IMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.ql.txn.compactor.Cleaner;
import org.apache.hadoop.hive.ql.txn.compactor.CompactorThread;
import org.apache.hadoop.hive.ql.txn.compactor.Initiator;
import org.apache.hadoop.hive.ql.txn.compactor.Worker;

/** What another engine, or a host that compacts, asks of the metastore. */
class MetastoreCalls {
  static List<Object> call(String name, List<String> arguments) throws Exception {
    HiveConf conf = SessionState.get().getConf();
    IMetaStoreClient client = Hive.get(conf).getMSC();
    String[] given = arguments.toArray(new String[0]);
    switch (name) {
      case "open_txn": // user
        return List.of(client.openTxn(given[0]));
      case "commit_txn": // transaction
        client.commitTxn(Long.parseLong(given[0]));
        return List.of();
      case "abort_txn": // transaction
        client.rollbackTxn(Long.parseLong(given[0]));
        return List.of();
      case "allocate_write_id": // transaction, database, table
        return List.of(client.allocateTableWriteId(Long.parseLong(given[0]), given[1], given[2]));
      case "valid_write_ids": // database.table
        return List.of(client.getValidWriteIds(given[0]).toString());
      case "valid_txns":
        return List.of(client.getValidTxns().toString());
      case "table": // database, table
        return List.of(describe(client, given[0], given[1]));
      case "compactor": // initiator, worker or cleaner: one round of it, now
        CompactorThread thread = compactor(given[0]);
        thread.setConf(conf);
        thread.init(new AtomicBoolean(true));
        thread.run();
        return List.of();
      default:
        throw new IllegalArgumentException(name);
    }
  }

  private static CompactorThread compactor(String kind) {
    switch (kind) {
      case "initiator":
        return new Initiator();
      case "worker":
        return new Worker();
      case "cleaner":
        return new Cleaner();
      default:
        throw new IllegalArgumentException(kind);
    }
  }

  private static Map<String, Object> describe(IMetaStoreClient client, String database, String name)
      throws Exception {
    Table table = client.getTable(database, name);
    List<Object> partitions = new ArrayList<>();
    if (table.getPartitionKeysSize() > 0) {
      for (Partition partition : client.listPartitions(database, name, (short) -1)) {
        partitions.add(Map.of(
            "values", partition.getValues(),
            "location", partition.getSd().getLocation(),
            "columns", columns(partition.getSd().getCols()),
            "parameters", new TreeMap<>(partition.getParameters())));
      }
    }
    return Map.of(
        "location", table.getSd().getLocation(),
        "columns", columns(table.getSd().getCols()),
        "partition_columns", columns(table.getPartitionKeys()),
        "bucket_columns", table.getSd().getBucketCols(),
        "buckets", table.getSd().getNumBuckets(),
        "serde", table.getSd().getSerdeInfo().getSerializationLib(),
        "parameters", new TreeMap<>(table.getParameters()),
        "partitions", partitions);
  }

  private static List<Object> columns(List<FieldSchema> fields) {
    List<Object> columns = new ArrayList<>();
    fields.forEach(field -> columns.add(List.of(field.getName(), field.getType())));
    return columns;
  }
}
