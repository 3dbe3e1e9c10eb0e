/* Calls of a Hive Metastore that issue delegation tokens, for those who have a ticket. */
exception MetaException { 1: string message }

service Tokens {
  string get_delegation_token(1: string token_owner, 2: string renewer)
    throws (1: MetaException o1)
  i64 renew_delegation_token(1: string token) throws (1: MetaException o1)
  void cancel_delegation_token(1: string token) throws (1: MetaException o1)
}
