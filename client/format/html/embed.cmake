# Writes OUTPUT: the scripts and styles in SCRIPTS and STYLES, of the page and of the served one, as string literals.
file(READ ${SCRIPTS}/page.js PROFD_PAGE_SCRIPT)
file(READ ${SCRIPTS}/served.js PROFD_SERVED_SCRIPT)
file(READ ${STYLES}/style.css PROFD_PAGE_STYLE)
file(READ ${STYLES}/served/served.css PROFD_SERVED_STYLE)
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
