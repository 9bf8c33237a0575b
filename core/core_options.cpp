// Names, defaults and help of the engine's options.
#include "core/core_options.hpp"

namespace godwit::core {

namespace {

constexpr std::size_t smallest_window = 64 * 1024;

std::string check_eager_limit(const Bytes& size) {
  return size.value <= smallest_window ? "" : "a size of at most 64K";
}
std::string check_eager_window(const Bytes& size) {
  return size.value >= smallest_window ? "" : "a size of at least 64K";
}
std::string check_timeout(const Seconds& time) { return time.value > 0 ? "" : "a time above 0 seconds"; }
std::string check_port(const std::int64_t& port) {
  return port >= 0 && port <= 65535 ? "" : "a port number, 0 to 65535";
}

}  // namespace

CoreOptions::CoreOptions()
    : OptionGroup("core"),
      debug(*this, "DEBUG", Choice{"warn", {"error", "warn", "info", "debug", "trace"}}, "how much to log"),
      debug_file(*this, "DEBUG_FILE", "",
                 "log to this file instead of standard error (%h host name, %p process id, %r rank)"),
      transports(*this, "TRANSPORTS", {}, "transports that may be used, by name; unset = all that work"),
      eager_limit(*this, "EAGER_LIMIT", Bytes{64 * 1024},
                  "largest message that may be sent before the receiver asks for it, where that is faster; at most 64K",
                  check_eager_limit),
      eager_window(*this, "EAGER_WINDOW", Bytes{1024 * 1024},
                   "bytes of eager messages that a sender may have unreceived at one peer; at least 64K",
                   check_eager_window),
      wait(*this, "WAIT", Choice{"auto", {"auto", "spin", "yield", "sleep"}},
           "what a rank does while it waits; auto = spins, and sleeps where ranks share CPUs"),
      atomics(*this, "ATOMICS", Choice{"target", {"target", "adapter"}},
              "who executes 64-bit atomics where a region does not say: CPUs of the owner's host, or its RDMA adapter"),
      stall_warning(*this, "STALL_WARNING", Seconds{30},
                    "seconds without progress after which a waiting rank says what it waits for; 0 = never"),
      state_signal(*this, "STATE_SIGNAL", Choice{"usr1", {"usr1", "usr2", "none"}},
                   "signal that makes a rank print its pending operations"),
      algo(*this, "ALGO", "", "algorithms that may be used, as in allreduce:ring,tree;broadcast:binomial; unset = all"),
      tune_file(*this, "TUNE_FILE", "",
                "table of measured algorithms, by `godwit tune`, the same on all ranks; unset = by predicted costs"),
      tree_threshold(*this, "TREE_THRESHOLD", std::nullopt,
                     "trees up to this size, rings above it; 0 = only rings; unset = the cheaper one"),
      startup_timeout(*this, "STARTUP_TIMEOUT", Seconds{60}, "seconds that all ranks have to come up", check_timeout),
      socket_ifname(*this, "SOCKET_IFNAME", {},
                    "network interfaces of the TCP bootstrap, by prefix; =a exactly a, ^a all but a; unset = all up"),
      port(*this, "PORT", 0, "port of the TCP bootstrap's store; 0 = derived from MASTER_PORT", check_port),
      secret(*this, "SECRET", Secret{}, "word that all ranks of a TCP bootstrap must know; unset = open"),
      host_id(*this, "HOST_ID", "", "ranks with different values are treated as on different hosts (for tests)") {}

LogLevel CoreOptions::log_level() const {
  const std::string& name = debug->value;
  if (name == "trace") return LogLevel::trace;
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "error") return LogLevel::error;
  return LogLevel::warn;
}

}  // namespace godwit::core
