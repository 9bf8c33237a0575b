// What the ranks and the TCP store say to each other. Pure: bytes in, structs out.
//
//   store -> rank   Banner          on every new connection: which job this is, and a number to sign
//   rank  -> store  Hello           who I am, signed
//   store -> rank   Welcome         or Refusal
//   rank  -> store  CardMessage     this rank's card: it is ready
//   store -> rank   Cards           everyone's; or Failed
//   store -> rank   Death           any time later
//   rank  -> store  Abort           "end the job"
//   rank  -> store  Goodbye         and store -> rank Closing: the end that follows is orderly
//
// A frame: length of the payload (4 bytes, little-endian), kind (1 byte), payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace godwit::pmi {

inline constexpr std::uint32_t store_magic = 0x31'54'57'47;  // "GWT1": another protocol has another number
inline constexpr std::size_t frame_header_size = 5;
inline constexpr std::size_t max_request_size = 4096;  // payload of what a rank sends

enum class FrameKind : std::uint8_t {
  banner,
  hello,
  welcome,
  refusal,
  card,
  cards,
  failed,
  death,
  abort,
  goodbye,
  closing
};

struct Frame {
  FrameKind kind = FrameKind::banner;
  std::string payload;
};

struct Banner {
  static constexpr FrameKind kind = FrameKind::banner;
  std::uint32_t magic = store_magic;
  std::uint64_t job = 0;    // StoreConfig::job
  std::uint64_t nonce = 0;  // new for each connection
  template <class A>
  void fields(A& a) {
    a(magic, job, nonce);
  }
};
struct Hello {
  static constexpr FrameKind kind = FrameKind::hello;
  std::uint64_t proof = 0;  // sign(secret, nonce, rank)
  std::int32_t rank = 0, size = 0;
  std::uint32_t pid = 0;
  std::string host;
  template <class A>
  void fields(A& a) {
    a(proof, rank, size, pid, host);
  }
};
struct Welcome {
  static constexpr FrameKind kind = FrameKind::welcome;
  std::uint64_t job_nonce = 0;  // makes the job's name unlike that of any other job
  template <class A>
  void fields(A& a) {
    a(job_nonce);
  }
};
struct Refusal {
  static constexpr FrameKind kind = FrameKind::refusal;
  std::uint8_t fatal = 0;  // 1: trying again cannot help
  std::string reason;
  template <class A>
  void fields(A& a) {
    a(fatal, reason);
  }
};
struct CardMessage {
  static constexpr FrameKind kind = FrameKind::card;
  std::string card;
  template <class A>
  void fields(A& a) {
    a(card);
  }
};
struct Cards {
  static constexpr FrameKind kind = FrameKind::cards;
  std::vector<std::string> cards;  // by rank
  template <class A>
  void fields(A& a) {
    a(cards);
  }
};
struct Failed {
  static constexpr FrameKind kind = FrameKind::failed;
  std::string reason;
  template <class A>
  void fields(A& a) {
    a(reason);
  }
};
struct Death {
  static constexpr FrameKind kind = FrameKind::death;
  std::int32_t rank = 0;
  std::string reason;
  template <class A>
  void fields(A& a) {
    a(rank, reason);
  }
};
struct Abort {
  static constexpr FrameKind kind = FrameKind::abort;
  std::int32_t status = 0;
  std::string reason;
  template <class A>
  void fields(A& a) {
    a(status, reason);
  }
};
struct Goodbye {
  static constexpr FrameKind kind = FrameKind::goodbye;
  template <class A>
  void fields(A&) {}
};
struct Closing {
  static constexpr FrameKind kind = FrameKind::closing;
  template <class A>
  void fields(A&) {}
};

/// Length and kind from the first frame_header_size bytes. Throws Error(bootstrap) when the length is above
/// `limit` or there is no such kind.
struct FrameHeader {
  std::uint32_t length = 0;
  FrameKind kind = FrameKind::banner;
};
FrameHeader decode_header(const char* bytes, std::size_t limit);

/// Proves knowledge of the secret. A keyed hash that is not cryptographic: it keeps jobs of different secrets
/// and strangers without the secret apart; it does not stop somebody who can read or change the traffic.
std::uint64_t sign(std::string_view secret, std::uint64_t nonce, std::int32_t rank);

namespace detail {

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <class T>
  requires std::is_integral_v<T>
  void put(T value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
  }
  void put(const std::vector<std::string>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const std::string& text : list) put(text);
  }
  std::string& out_;
};

[[noreturn]] void malformed(FrameKind kind);

class Reader {
 public:
  Reader(FrameKind kind, std::string_view in) : kind_(kind), in_(in) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void end() const {
    if (!in_.empty()) malformed(kind_);
  }

 private:
  std::string_view take(std::size_t bytes) {
    if (bytes > in_.size()) malformed(kind_);
    const std::string_view taken = in_.substr(0, bytes);
    in_.remove_prefix(bytes);
    return taken;
  }
  template <class T>
  requires std::is_integral_v<T>
  void get(T& value) { std::memcpy(&value, take(sizeof value).data(), sizeof value); }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    text = take(size);
  }
  void get(std::vector<std::string>& list) {
    std::uint32_t size = 0;
    get(size);
    list.clear();  // grows with what is really there: `size` may be a lie
    for (std::uint32_t i = 0; i < size; ++i) get(list.emplace_back());
  }
  FrameKind kind_;
  std::string_view in_;
};

void write_header(std::string& frame, FrameKind kind);

}  // namespace detail

/// A whole frame.
template <class Message>
std::string encode(Message message) {
  std::string frame(frame_header_size, '\0');
  detail::Writer writer(frame);
  message.fields(writer);
  detail::write_header(frame, Message::kind);
  return frame;
}

/// Throws Error(bootstrap) when the frame is of another kind or malformed.
template <class Message>
Message decode(const Frame& frame) {
  if (frame.kind != Message::kind) detail::malformed(Message::kind);
  Message message;
  detail::Reader reader(frame.kind, frame.payload);
  message.fields(reader);
  reader.end();
  return message;
}

}  // namespace godwit::pmi
