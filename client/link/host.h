// Host: which profd a command is to speak to, as the command line says.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/http/tls_files.h"

namespace profd::client {

// "tls://HOST:PORT".
inline constexpr std::string_view kTlsScheme = "tls://";

struct Host {
  Host(std::string named = {}) : address(std::move(named)) {}
  std::string address;  // of --host; "": none is named
  TlsFiles tls;         // of --tls-ca, --tls-cert, --tls-key
};

}  // namespace profd::client
