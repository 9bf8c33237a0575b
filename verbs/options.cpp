#include "verbs/options.hpp"

#include "verbs/domains.hpp"

#include <string>

namespace godwit::verbs {
namespace {

auto between(std::int64_t least, std::int64_t most) {
  return [least, most](const std::int64_t& value) -> std::string {
    return value >= least && value <= most ? ""
                                           : "a number from " + std::to_string(least) + " to " + std::to_string(most);
  };
}

std::string check_mtu(const std::int64_t& mtu) {
  const bool known = mtu == 0 || mtu == 256 || mtu == 512 || mtu == 1024 || mtu == 2048 || mtu == 4096;
  return known ? "" : "0 (the port's), 256, 512, 1024, 2048 or 4096";
}

std::string check_message(const core::Bytes& bytes) {
  return bytes.value >= 512 && bytes.value <= (std::size_t{1} << 20) ? "" : "a size from 512 to 1M";
}

}  // namespace

VerbsOptions::VerbsOptions()
    : OptionGroup("verbs"),
      disable(*this, "IB_DISABLE", false, "do not use RDMA adapters"),
      hca(*this, "IB_HCA", "",
          "adapters to use: exact names or patterns, with ports: mlx5_0:1,mlx5_4*; ^ in front: all but these"),
      gid_index(*this, "IB_GID_INDEX", -1, "index of the port's GID on RoCE and routed InfiniBand; -1: chosen",
                between(-1, 65535)),
      traffic_class(*this, "IB_TC", 0, "traffic class of RoCE and global routes", between(0, 255)),
      service_level(*this, "IB_SL", 0, "service level", between(0, 15)),
      pkey(*this, "IB_PKEY", 0, "index of the partition key", between(0, 65535)),
      timeout(*this, "IB_TIMEOUT", 16, "wait for an acknowledgement: 4.096 us x 2^n; 0: for ever", between(0, 31)),
      retry_count(*this, "IB_RETRY_CNT", 6, "retransmissions before a queue pair fails; soft-RoCE takes 7 for endless",
                  between(0, 7)),
      connect_time(*this, "IB_CONNECT_TIME", 30,
                   "seconds within which a peer's service thread must answer on the side channel; who connects has a "
                   "third of it to introduce itself",
                   between(1, 3600)),
      recovery_time(
          *this, "IB_RECOVERY_TIME", 10,
          "seconds for which a connection whose queue pair failed, by a port that is down or a broken path, is "
          "rebuilt again and again before it is lost; 0: it is lost at once",
          between(0, 86400)),
      mtu(*this, "IB_MTU", 0, "largest packet in bytes; 0: the smaller of both ports' active MTU", check_mtu),
      queue_pairs(*this, "IB_QPS_PER_PEER", 1, "queue pairs per peer; more than one is not there yet", between(1, 1)),
      rails(*this, "IB_RAILS", most_rails_in_use,
            "ports in use at a time, the best first; with two, traffic moves over when one fails",
            between(1, most_rails_in_use)),
      inline_bytes(*this, "IB_INLINE", 220, "largest message, header included, that is copied into the work request",
                   between(0, 4096)),
      connect(*this, "IB_CONNECT", core::Choice{"auto", {"auto", "exchange", "rdmacm"}},
              "how queue pairs are connected: exchange (by a TCP side channel), rdmacm; auto: rdmacm for iWARP only"),
      message(*this, "IB_MESSAGE", core::Bytes{8 << 10}, "largest payload of one message: size of a receive buffer",
              check_message),
      credits(*this, "IB_CREDITS", 32, "messages that a peer may have under way to us", between(4, 4096)),
      receives(*this, "IB_RECEIVES", 8192, "receive buffers shared by all peers; above it credits become fewer",
               between(64, 32768)),
      send_queue(*this, "IB_SEND_QUEUE", 128, "work requests under way per queue pair", between(16, 8192)),
      reg_cache(*this, "IB_REG_CACHE", core::Choice{"auto", {"auto", "on", "off"}},
                "keep registrations of private memory after use; auto: where UCX's libucm, which reports unmapping, is "
                "in the process, on: load it, with a warning where that fails"),
      reg_cache_entries(*this, "IB_REG_CACHE_ENTRIES", 4096, "registrations that are kept per adapter",
                        between(1, 1 << 20)),
      reg_cache_bytes(*this, "IB_REG_CACHE_BYTES", core::Bytes{std::size_t{8} << 30},
                      "memory that is kept registered per adapter") {}

}  // namespace godwit::verbs
