// Operation: one thing in flight. Pooled; named on the wire by an id that goes stale when it is released.
// Owned by one worker and touched only under its thread rule.
#pragma once

#include <godwit/error.hpp>
#include <godwit/request.hpp>
#include <godwit/types.hpp>

#include <boost/intrusive/list.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/transport.hpp"

namespace godwit::core {

struct Group;
struct Operation;
struct Peer;
struct Protocol;
struct Unexpected;

using OperationId = std::uint64_t;

/// The plain part of an Operation, set back as a whole when it is released.
struct alignas(64) OperationFields {
  enum class Kind : std::uint8_t {
    send,
    recv,
    active,
    put,
    get,
    fetch_add,
    compare_swap,
    flush,
    stream,   // target side of an emulated get
    control,  // a protocol's message that the transport has not read yet
    collective,
  };
  enum class State : std::uint8_t {
    connecting,  // waits for the endpoint
    held,        // put with a notification: waits until earlier transfers to the same rank are under way
    posted,      // receive without a matching message yet; send that waits for its answer
    moving,      // bytes are on their way
    done,
  };
  using Callback = void (*)(Operation& operation, void* owner) noexcept;

  Kind kind = Kind::send;
  State state = State::posted;
  ErrorCode status = ErrorCode::ok;
  bool abandoned = false;  // nobody will ask for the outcome: released when done
  bool truncated = false;
  bool synchronous = false;    // send: done only when matched
  bool reachable = false;      // one-sided: `remote` has a handle
  bool outstanding = false;    // one-sided: counted in the peer's rma_outstanding
  bool emulated = false;       // one-sided: counted in the peer's emulated_outstanding, too
  bool posting = false;        // one-sided: counted in the peer's unposted
  bool failing = false;        // has failed, but work requests are still out: done when they are
  std::uint8_t in_flight = 0;  // work requests posted and not completed
  std::uint32_t context = 0;
  std::uint32_t signature = 0;
  Rank source = any_source;  // receive: rank in the job that may match
  Tag tag = 0;
  Group* group = nullptr;
  std::byte* buffer = nullptr;
  std::size_t size = 0;  // send: length; receive: capacity, then bytes that will be moved
  Callback on_complete = nullptr;
  void* owner = nullptr;
  std::uint64_t order = 0;  // receives: order of posting
  std::int64_t since_ms = 0;
  MessageInfo info;
  bool told = false;  // receive of a collective: its source has been told that we wait
  // The second half: untouched as long as `peer` and `matched` are null, which they are for eager receives.
  alignas(64) Peer* peer = nullptr;
  const Protocol* protocol = nullptr;
  std::size_t posted = 0;     // bytes handed to the transport
  std::size_t moved = 0;      // bytes known to have arrived (or left)
  OperationId remote_id = 0;  // the peer's operation
  RemoteAddress remote;
  std::uint64_t operand = 0, compare = 0;
  std::uint64_t offset = 0;         // emulated one-sided: within the target's region
  std::uint64_t* result = nullptr;  // atomics: where the value before goes
  std::uint64_t fetched = 0;        // atomics: where the transport writes it
  Unexpected* matched = nullptr;    // matched probe: the message taken out of the queue
  std::optional<std::uint32_t> notify;
  std::uint32_t width = 8;                    // atomics
  std::uint16_t slot = 0;                     // emulated one-sided: the target's region
  std::uint8_t patience = 0;                  // deferred failure: passes that it still waits for a better explanation
  AtomicsDomain domain = AtomicsDomain::cpu;  // atomics: the target's

  bool has_second_half() const noexcept { return peer != nullptr || matched != nullptr; }
  void reset() noexcept;
};
static_assert(std::is_trivially_copyable_v<OperationFields> && sizeof(OperationFields) == 256);

// Zeros by halves, then what is not zero: for a whole, compilers use `rep stos`, which takes some 30 cycles to begin.
inline void OperationFields::reset() noexcept {
  static constexpr OperationFields as_new{};
  constexpr std::size_t half = sizeof(OperationFields) / 2;
  auto* bytes = reinterpret_cast<std::byte*>(this);
  if (has_second_half()) {
    std::memset(bytes + half, 0, half);
    width = as_new.width;
    domain = as_new.domain;
  }
  std::memset(bytes, 0, half);
  state = as_new.state;
  source = as_new.source;
  info = as_new.info;
  assert(std::memcmp(bytes, &as_new, sizeof as_new) == 0);
}

struct Operation : OperationFields {
  using Hook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

  alignas(64) OperationId id = 0;  // ours; not in the padding behind the fields, which is reset with them
  Hook active_hook;                // all that are not done, in order of starting
  Hook queue_hook;                 // matcher's bucket, peer's waiting list or worker's streams
  std::unique_ptr<Registration> registration;
  std::unique_ptr<std::byte[]> own_buffer;  // large active message on its way in; payload of a control message
  std::string detail;                       // words for the error
  std::optional<PackedKey> key;             // one-sided: to be imported when the endpoint is connected

  bool done() const noexcept { return state == State::done; }
  /// As new, but for the id.
  void reset() noexcept {
    active_hook.unlink();
    queue_hook.unlink();
    if (!detail.empty()) detail = {};
    if (has_second_half()) {  // else there is no peer for whom there could be any of these
      if (registration) registration.reset();
      if (own_buffer) own_buffer.reset();
      key.reset();
    }
    assert(!registration && !own_buffer && !key);
    OperationFields::reset();
  }
};

using ActiveList =
    boost::intrusive::list<Operation,
                           boost::intrusive::member_hook<Operation, Operation::Hook, &Operation::active_hook>,
                           boost::intrusive::constant_time_size<false>>;
using OperationQueue =
    boost::intrusive::list<Operation, boost::intrusive::member_hook<Operation, Operation::Hook, &Operation::queue_hook>,
                           boost::intrusive::constant_time_size<false>>;

/// Operations in slabs. acquire() allocates only when all are in use.
class OperationPool {
 public:
  OperationPool() = default;
  OperationPool(const OperationPool&) = delete;
  OperationPool& operator=(const OperationPool&) = delete;

  Operation& acquire(Operation::Kind kind) {
    if (free_count_ == 0) [[unlikely]]
      grow();
    Operation& operation = *free_[--free_count_];
    operation.kind = kind;
    return operation;
  }
  void release(Operation& operation) noexcept {
    operation.reset();
    operation.id += std::uint64_t{1} << index_bits;
    free_[free_count_++] = &operation;
  }
  /// nullptr for an id that is stale or was never given out.
  Operation* find(OperationId id) noexcept {
    const std::uint64_t index = (id & index_mask) - 1;
    if (index >= slabs_.size() * slab_size) return nullptr;
    Operation& operation = slabs_[index / slab_size][index % slab_size];
    return operation.id == id ? &operation : nullptr;
  }

 private:
  // An id is (generation, index + 1): 0 is never one, and a released operation's id finds nothing.
  static constexpr std::uint64_t index_bits = 32;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
  static constexpr std::size_t slab_size = 128;

  void grow();

  std::vector<std::unique_ptr<Operation[]>> slabs_;
  std::vector<Operation*> free_;  // as many as there are operations, of which the first free_count_ are free
  std::size_t free_count_ = 0;
};

std::string_view to_string(Operation::Kind kind) noexcept;

}  // namespace godwit::core
