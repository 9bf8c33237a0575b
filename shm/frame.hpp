// What the peers say to each other over their control socket (Unix, SOCK_SEQPACKET: one frame is one packet, and
// descriptors stay with their frame). One fixed layout for all; unused members are zero.
#pragma once

#include "core/unique_fd.hpp"
#include "core/wire.hpp"
#include "shm/cma.hpp"
#include "shm/layout.hpp"

#include <godwit/types.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::shm {

enum class FrameType : std::uint8_t {
  hello = 1,        // first frame of who connects; files: link segment, bell page, eventfd
  welcome,          // answer; files: bell page, eventfd
  good_bye,         // leaves in order; nothing follows
  segment_request,  // number: identifier of a segment of the receiver
  segment_reply,    // number, size (0: there is no such segment); file: the segment
  segment_gone,     // number: that segment has been given back; unmap it
};

struct Frame {
  static constexpr std::uint64_t magic_value = 0x314d485354574447;  // "GDWTSHM1"

  std::uint64_t magic = magic_value;
  std::uint16_t layout = layout_version;
  std::uint8_t wire = core::wire_version;
  FrameType type = FrameType::hello;
  std::int32_t rank = 0;
  std::uint64_t job = 0;     // hash of the job's name
  std::uint64_t number = 0;  // segment_*: its identifier
  std::uint64_t size = 0;    // segment_reply: its bytes
  // hello and welcome:
  std::uint32_t pid = 0;  // for messages; the kernel tells the one to use
  std::uint32_t ring_bytes = 0;
  std::uint32_t max_message = 0;
  std::uint8_t membarrier = 0;  // the sender uses membarrier
  std::uint8_t cma = 0;         // the sender allows and wants cross-memory attach
  std::uint16_t reserved = 0;
  std::uint64_t nonce_address = 0;
  Nonce nonce{};
  std::array<char, 40> host{};  // ends with 0

  void set_host(std::string_view name) noexcept;
  std::string host_name() const;
};
static_assert(sizeof(Frame) == 120);

inline constexpr std::size_t max_frame_files = 3;

/// Outcome of one attempt on a non-blocking socket.
enum class FrameIo : std::uint8_t { done, again, closed, failed };

/// `error` is set when it failed.
FrameIo send_frame(int socket, const Frame& frame, std::span<const core::UniqueFd> files, int& error) noexcept;
/// Anything that is not a frame of our version is `failed` with EPROTO; descriptors lost for lack of room: EMFILE.
FrameIo receive_frame(int socket, Frame& frame, std::vector<core::UniqueFd>& files, int& error);

}  // namespace godwit::shm
