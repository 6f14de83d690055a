# Writes OUTPUT: the statements in TABLES as a string literal.
file(READ ${TABLES} PROFD_FLEET_TABLES)
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
