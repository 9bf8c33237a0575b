// A reliable connected queue pair and its way from INIT to RTS. Threads: one at a time.
#pragma once

#include "verbs/cm_api.hpp"
#include "verbs/handle.hpp"
#include "verbs/wire.hpp"

#include <cstdint>
#include <string>

namespace godwit::verbs {

class Adapter;

class QueuePair {
 public:
  /// In INIT: receives may be posted, the peer may be told of it. Throws Error(no_memory) or Error(transport).
  explicit QueuePair(Adapter& adapter);

  /// To RTS. Throws Error(transport) with both ends in words.
  void connect(const PairAddress& peer);
  /// It is going to be connected by rdma_cm.
  void expect(const PairAddress& peer) noexcept;
  /// To RTS as rdma_cm wants it. Not for iWARP, where rdma_cm does it itself. Throws Error(transport) as above.
  void connect(CmApi& cm, rdma_cm_id& id);
  /// To ERR: what is posted comes back as flushed.
  void fail() noexcept;
  /// No more reads or writes memory after that.
  void destroy() noexcept { pair_.reset(); }

  Adapter& adapter() const noexcept { return *adapter_; }
  ibv_qp* get() const noexcept { return pair_.get(); }
  const PairAddress& address() const noexcept { return address_; }
  const PairAddress& peer() const noexcept { return peer_; }
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }
  std::uint32_t send_depth() const noexcept { return send_depth_; }
  std::uint32_t mtu() const noexcept { return mtu_; }  // bytes, in use

 private:
  void create();
  void initialise();
  void modify(ibv_qp_attr& attributes, int mask, const char* to);

  Adapter* adapter_;
  PairHandle pair_;
  PairAddress address_;
  PairAddress peer_;
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t send_depth_ = 0;
  std::uint32_t mtu_ = 0;
};

/// "QP 17, LID 3" or "QP 17, GID 10.1.2.3"
std::string to_text(const PairAddress& address);
/// "10.1.2.3" for an IPv4-mapped GID, else as an IPv6 address.
std::string to_text(const Gid& gid);

}  // namespace godwit::verbs
