#include "pmi/tcp_protocol.hpp"

#include "core/text.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <bit>

namespace godwit::pmi {

static_assert(std::endian::native == std::endian::little, "the store's protocol is little-endian");

FrameHeader decode_header(const char* bytes, std::size_t limit) {
  FrameHeader header;
  std::memcpy(&header.length, bytes, sizeof header.length);
  header.kind = static_cast<FrameKind>(bytes[sizeof header.length]);
  if (header.length > limit || header.kind > FrameKind::closing)
    throw Error(ErrorCode::bootstrap, "what came is not the protocol of Godwit's TCP store");
  return header;
}

std::uint64_t sign(std::string_view secret, std::uint64_t nonce, std::int32_t rank) {
  return core::hash64(fmt::format("{}\n{:x}\n{}\n{}", secret, nonce, rank, secret));
}

namespace detail {

void malformed(FrameKind kind) {
  throw Error(ErrorCode::bootstrap,
              fmt::format("a message of Godwit's TCP store is malformed (expected kind {})", static_cast<int>(kind)));
}

void write_header(std::string& frame, FrameKind kind) {
  const auto length = static_cast<std::uint32_t>(frame.size() - frame_header_size);
  std::memcpy(frame.data(), &length, sizeof length);
  frame[sizeof length] = static_cast<char>(kind);
}

}  // namespace detail
}  // namespace godwit::pmi
