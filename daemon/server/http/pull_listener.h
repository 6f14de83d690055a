// PullListener: answers scrapers that have certificates, by HTTP and TLS.
#pragma once

#include <spdlog/logger.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/call_log.h"
#include "daemon/server/grpc/auth/refusal_log.h"
#include "daemon/server/grpc/auth/roles.h"
#include "daemon/server/grpc/service/scrape.h"
#include "daemon/server/grpc/transport/tls_identity.h"

namespace profd::server {

struct PullOptions {
  std::string address;  // see ParseTcpAddress
  TlsFiles files;
  Roles roles{};
};

// Serves GET /debug/pprof/profile and /debug/pprof/wall from Start to destruction. Its own thread
// accepts; each connection has a thread of libmicrohttpd, which waits for the session. There are at
// most kMaxConnections; beyond them the oldest one without a session is closed. A connection
// without a certificate that the CA has signed for a client gets 403 and no more. A session ends
// when its client goes away. Files that have changed hold for the next connection; files that are
// not valid change nothing. Every scrape is in the log, refused ones as well.
class PullListener {
 public:
  static constexpr std::size_t kMaxConnections = 32;
  static constexpr std::size_t kMaxHeaderBytes = 16u << 10;
  static constexpr unsigned kIdleSeconds = 10;

  // `scrapes`, `clock` and `logger` must outlive this. kUnavailable: another process listens there.
  [[nodiscard]] static Result<std::unique_ptr<PullListener>> Start(const PullOptions& options,
                                                                   Scrapes& scrapes,
                                                                   const Clock& clock,
                                                                   spdlog::logger& logger);
  ~PullListener();
  PullListener(const PullListener&) = delete;
  PullListener& operator=(const PullListener&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // Stops accepting, and ends the sessions of scrapers.
  void Shutdown();
  [[nodiscard]] std::uint64_t refusals() const { return refusals_.refusals(); }

 private:
  class TlsHttp;  // of one state of the files

  PullListener(const PullOptions& options, Scrapes& scrapes, const Clock& clock,
               spdlog::logger& logger);
  void Run();
  void Accept();
  void LoadIfChanged();

  const PullOptions options_;
  Scrapes& scrapes_;
  const Clock& clock_;
  spdlog::logger& logger_;
  RefusalLog refusals_;
  CallLog calls_;
  TlsFilesStamp stamp_{};
  UniqueFd listener_;
  UniqueFd stop_;                                // eventfd
  std::list<std::unique_ptr<TlsHttp>> servers_;  // the last one takes new connections
  Heartbeat beat_{"scrapers"};
  std::thread thread_;
};

}  // namespace profd::server
