#include "client/cli/common_options.h"

#include <utility>

namespace profd::client {

void AddCommon(Command& command, RawCommon& raw) {
  const auto add = [&](Option option) {
    option.group = kOtherGroup;
    command.Add(std::move(option));
  };
  add({.names = "-q,--quiet", .into = &raw.quiet, .help = "no words on standard error but errors"});
  add({.names = "-v,--verbose",
       .into = &raw.verbose,
       .help = "explain choices, show all threads and counters"});
  add({.names = "--color",
       .into = &raw.color,
       .value = "WHEN",
       .help = "when to use colour: auto, always or never; auto obeys NO_COLOR",
       .words = {"auto", "always", "never"}});
  add({.names = "--host",
       .into = &raw.host.address,
       .value = "ADDRESS",
       .help = "the profd to speak to, unix:///PATH, tls://HOST:PORT or HOST:PORT; else "
               "PROFD_HOST, else unix:///run/profd/profd.sock",
       .more = "HOST:PORT is not encrypted. If a host is named, profctl uses no other one."});
  add({.names = "--tls-ca",
       .into = &raw.host.tls.ca,
       .value = "FILE",
       .help =
           "who signed the certificate of that profd, PEM; else PROFD_TLS_CA, else the system's",
       .more = "It is for tls://. The certificate must name HOST.",
       .offer = Offer::kFiles});
  add({.names = "--tls-cert",
       .into = &raw.host.tls.certificate,
       .value = "FILE",
       .help = "your certificate, PEM; else PROFD_TLS_CERT",
       .more = "It is for tls://; that profd's tls.client_ca must have signed it.",
       .offer = Offer::kFiles});
  add({.names = "--tls-key",
       .into = &raw.host.tls.key,
       .value = "FILE",
       .help = "its key, PEM; else PROFD_TLS_KEY",
       .more = "The key has no passphrase.",
       .offer = Offer::kFiles});
  add({.names = "-h,--help", .help = "show this help"});
}

Result<GlobalOptions> ParseCommon(const RawCommon& raw) {
  const Result<ColorChoice> color = ParseColorChoice(raw.color);
  if (!color) return color.error();
  return GlobalOptions{raw.quiet, raw.verbose, *color, raw.host};
}

}  // namespace profd::client
