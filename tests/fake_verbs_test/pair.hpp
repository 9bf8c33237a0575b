// Two processes with a connected pair of queue pairs: what most tests of the fake need.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fake_verbs/fabric.hpp"

namespace godwit::fake_verbs {

struct EndSettings {
  unsigned send_requests = 8, receives = 8, completions = 32, pieces = 4, inline_bytes = 64;
  bool shared = false, channel = false;
  std::uint8_t rnr_retry = 7, timeout = 14, retry_count = 6, reads = 4;
  ibv_mtu mtu = IBV_MTU_1024;
};

/// One end: a device, a buffer of 4096 bytes under a key, a queue pair.
class End {
 public:
  End(Process& process, const EndSettings& settings);
  ~End();  // destroys in the right order, and expects that it works
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  int to_init();
  int to_rtr(const End& peer);
  int to_rts();
  int to(ibv_qp_state state);  // RESET or ERR

  int receive(std::uint64_t id, std::size_t offset, std::uint32_t bytes) const;
  /// All signalled unless flags say otherwise.
  int send(std::uint64_t id, std::size_t offset, std::uint32_t bytes, unsigned flags = IBV_SEND_SIGNALED) const;
  int post(ibv_wr_opcode opcode, std::uint64_t id, std::uint32_t bytes, const End& peer, std::size_t peer_offset = 0,
           unsigned flags = IBV_SEND_SIGNALED) const;
  int atomic(ibv_wr_opcode opcode, std::uint64_t id, const End& peer, std::uint64_t operand, std::uint64_t swap = 0,
             std::size_t peer_offset = 0) const;

  std::vector<ibv_wc> poll(int most = 32) const;
  /// The only completion: its status; the test fails if there is another number.
  ibv_wc_status only();
  std::vector<ibv_async_event> events();  // got and acknowledged
  void write(std::size_t offset, const std::string& text);
  std::string read(std::size_t offset, std::size_t bytes) const;
  ibv_sge piece(std::size_t offset, std::uint32_t bytes) const;
  std::uint64_t address(std::size_t offset = 0) const;
  std::uint32_t number() const { return pair->qp_num; }
  ibv_qp_state state() const;

  Process& process;
  EndSettings settings;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* queue = nullptr;
  ibv_srq* shared = nullptr;
  ibv_qp* pair = nullptr;
  ibv_mr* region = nullptr;
  alignas(64) std::byte memory[4096] = {};
};

constexpr int all_access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/// Ends a and b on two hosts, connected; expects no defects and no leaks at the end.
class Connected : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  void make(const EndSettings& settings, bool connected = true);

  std::vector<DeviceSetup> devices(const std::string& host) const;
  bool roce = false, iwarp = false;  // before the first make()
  bool defects_expected = false;
  Fabric fabric;
  std::unique_ptr<End> a, b;
  bool hosts_made = false;
  const PortName port_a{"node0", "dev0", 1}, port_b{"node1", "dev0", 1};
};

}  // namespace godwit::fake_verbs
