// Identity of this process, and the card's form on the wire (card.hpp describes it).
#include "core/card.hpp"

#include "core/cpus.hpp"
#include "core/text.hpp"
#include "core/wire.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <type_traits>

namespace godwit::core {

namespace {

constexpr std::size_t max_host_name = 40;
constexpr std::array<char, 2> magic{'g', 'w'};

[[noreturn]] void no_identity(std::string_view path, int error) {
  throw Error(ErrorCode::bootstrap,
              fmt::format("cannot tell which host this is: {}: {}; Godwit needs /proc mounted in the container", path,
                          std::strerror(error)));
}

std::string boot_id() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  std::ifstream file(path);
  std::string id;
  if (!(file >> id)) no_identity(path, errno ? errno : EIO);
  return id;
}

std::uint64_t inode_of(const char* path) {
  struct stat information {};
  if (::stat(path, &information) != 0) no_identity(path, errno);
  return information.st_ino;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) no_identity("gethostname", errno);
  return std::string(name.data()).substr(0, max_host_name);
}

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    append(&value, sizeof value);
  }
  /// Length in one byte, then the bytes.
  void text(const void* data, std::size_t size) {
    if (size > UINT8_MAX)
      throw Error(ErrorCode::internal, fmt::format("{} bytes do not fit a field of the card (255)", size));
    number(static_cast<std::uint8_t>(size));
    append(data, size);
  }
  void append(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes), size_(bytes.size()) {}

  template <class T>
  void number(T& value) {
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
  }
  std::span<const std::byte> text() {
    std::uint8_t size = 0;
    number(size);
    return take(size);
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) malformed("it ends too early");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  bool at_end() const noexcept { return rest_.empty(); }
  [[noreturn]] void malformed(std::string_view why) const {
    throw Error(
        ErrorCode::bootstrap,
        fmt::format("a peer's card of {} bytes is malformed: {}; do all ranks run the same Godwit?", size_, why));
  }

 private:
  std::span<const std::byte> rest_;
  std::size_t size_;
};

std::string to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Card Card::of_this_process(std::string_view host_id) {
  Card card;
  std::string boot = boot_id();
  if (!host_id.empty()) boot.append("/").append(host_id);
  card.host.boot = hash64(boot);
  card.host.net_namespace = inode_of("/proc/self/ns/net");
  card.host.pid_namespace = inode_of("/proc/self/ns/pid");
  card.pid = static_cast<std::uint32_t>(getpid());
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.empty()) no_identity("sched_getaffinity", errno);
  card.cpu_count = static_cast<std::uint16_t>(cpus.size());
  card.cpu_hash =
      static_cast<std::uint32_t>(hash64({reinterpret_cast<const char*>(cpus.data()), cpus.size() * sizeof cpus[0]}));
  if (const auto core = core_of(cpus); core && *core < no_core) card.core = static_cast<std::uint16_t>(*core);
  card.host_name = core::host_name();
  return card;
}

std::span<const std::byte> Card::address_of(std::string_view transport) const noexcept {
  for (const auto& [name, address] : addresses)
    if (name == transport) return address;
  return {};
}

std::vector<std::byte> Card::encode() const {
  Writer out;
  out.append(magic.data(), magic.size());
  out.number(wire_version);
  out.number(host.boot);
  out.number(host.net_namespace);
  out.number(host.pid_namespace);
  out.number(pid);
  out.number(cpu_count);
  out.number(cpu_hash);
  out.number(core);
  out.text(host_name.data(), std::min(host_name.size(), max_host_name));
  out.number(static_cast<std::uint8_t>(addresses.size()));
  for (const auto& [name, address] : addresses) {
    out.text(name.data(), name.size());
    out.text(address.data(), address.size());
  }
  auto bytes = out.take();
  if (bytes.size() > max_card_size)
    throw Error(ErrorCode::internal,
                fmt::format("this rank's card has {} bytes, more than {}: addresses of {} transports", bytes.size(),
                            max_card_size, addresses.size()));
  return bytes;
}

Card Card::decode(std::span<const std::byte> bytes) {
  Reader in(bytes);
  if (bytes.size() > max_card_size) in.malformed("it is too long");
  if (std::memcmp(in.take(magic.size()).data(), magic.data(), magic.size()) != 0) in.malformed("it is no card");
  std::uint8_t version = 0;
  in.number(version);
  if (version != wire_version)
    throw Error(
        ErrorCode::bootstrap,
        fmt::format("a peer speaks wire version {}, this rank {}: run the same Godwit on all", version, wire_version));
  Card card;
  in.number(card.host.boot);
  in.number(card.host.net_namespace);
  in.number(card.host.pid_namespace);
  in.number(card.pid);
  in.number(card.cpu_count);
  in.number(card.cpu_hash);
  in.number(card.core);
  card.host_name = to_text(in.text());
  if (card.host_name.size() > max_host_name) in.malformed("its host name is too long");
  std::uint8_t count = 0;
  in.number(count);
  for (; count > 0; --count) {
    std::string name = to_text(in.text());
    const auto address = in.text();
    card.addresses.emplace_back(std::move(name), std::vector<std::byte>(address.begin(), address.end()));
  }
  if (!in.at_end()) in.malformed("something follows its end");
  return card;
}

}  // namespace godwit::core
