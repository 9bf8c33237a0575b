#include "core/matcher.hpp"

namespace godwit::core {

namespace {

constexpr std::size_t initial_buckets = 64;
// Buffers above this are given back to the allocator when a message is recycled.
constexpr std::size_t kept_capacity = 64 * 1024;

bool fits(std::uint32_t context, Rank source, Tag tag, std::uint32_t want_context, Rank want_source,
          Tag want_tag) noexcept {
  return context == want_context && (want_source == any_source || want_source == source) &&
         (want_tag == any_tag || want_tag == tag);
}

bool is_wild(Rank source, Tag tag) noexcept { return source == any_source || tag == any_tag; }

}  // namespace

Matcher::Matcher() : posted_(initial_buckets), unexpected_(initial_buckets), mask_(initial_buckets - 1) {}

std::size_t Matcher::bucket_of(std::uint32_t context, Rank source, Tag tag) const noexcept {
  std::uint64_t mix = static_cast<std::uint64_t>(tag) ^ (static_cast<std::uint64_t>(context) << 32) ^
                      static_cast<std::uint32_t>(source) * 0x9e3779b97f4a7c15ULL;
  mix *= 0xff51afd7ed558ccdULL;
  return (mix >> 33) & mask_;
}

Operation* Matcher::arrived(std::uint32_t context, Rank source, Tag tag) noexcept {
  if (posted_count_ == 0) return nullptr;
  Operation* found = nullptr;
  for (Operation& receive : posted_[bucket_of(context, source, tag)]) {
    if (receive.context == context && receive.source == source && receive.tag == tag) {
      found = &receive;
      break;
    }
  }
  for (Operation& receive : wild_) {
    if (found != nullptr && found->order < receive.order) break;
    if (fits(context, source, tag, receive.context, receive.source, receive.tag)) {
      found = &receive;
      break;
    }
  }
  if (found != nullptr) {
    found->queue_hook.unlink();
    --posted_count_;
  }
  return found;
}

void Matcher::post(Operation& receive) {
  receive.order = next_order_++;
  ++posted_count_;
  if (is_wild(receive.source, receive.tag)) {
    wild_.push_back(receive);
    return;
  }
  if (posted_count_ + unexpected_count_ > 2 * posted_.size()) [[unlikely]]
    grow();
  posted_[bucket_of(receive.context, receive.source, receive.tag)].push_back(receive);
}

bool Matcher::remove(Operation& receive) noexcept {
  if (!receive.queue_hook.is_linked()) return false;
  receive.queue_hook.unlink();
  --posted_count_;
  return true;
}

Unexpected* Matcher::find(std::uint32_t context, Rank source, Tag tag) noexcept {
  if (unexpected_count_ == 0) return nullptr;
  if (is_wild(source, tag)) {
    for (Unexpected& message : arrivals_)
      if (fits(message.context, message.source, message.tag, context, source, tag)) return &message;
    return nullptr;
  }
  for (Unexpected& message : unexpected_[bucket_of(context, source, tag)])
    if (message.context == context && message.source == source && message.tag == tag) return &message;
  return nullptr;
}

Unexpected* Matcher::take_one(std::uint32_t context, Rank source, Tag tag) noexcept {
  Unexpected* message = find(context, source, tag);
  if (message != nullptr) unlink(*message);
  return message;
}

void Matcher::unlink(Unexpected& message) noexcept {
  message.bucket_hook.unlink();
  message.arrival_hook.unlink();
  --unexpected_count_;
}

void Matcher::add(Unexpected& message) {
  ++unexpected_count_;
  if (posted_count_ + unexpected_count_ > 2 * unexpected_.size()) [[unlikely]]
    grow();
  unexpected_[bucket_of(message.context, message.source, message.tag)].push_back(message);
  arrivals_.push_back(message);
}

void Matcher::grow() {
  std::vector<OperationQueue> posted(posted_.size() * 4);
  std::vector<Bucket> unexpected(unexpected_.size() * 4);
  mask_ = posted.size() - 1;
  for (OperationQueue& old : posted_)
    while (!old.empty()) {
      Operation& receive = old.front();
      old.pop_front();
      posted[bucket_of(receive.context, receive.source, receive.tag)].push_back(receive);
    }
  for (Bucket& old : unexpected_)
    while (!old.empty()) {
      Unexpected& message = old.front();
      old.pop_front();
      unexpected[bucket_of(message.context, message.source, message.tag)].push_back(message);
    }
  posted_.swap(posted);
  unexpected_.swap(unexpected);
}

Unexpected& Matcher::acquire() {
  if (free_.empty()) {
    free_.reserve(storage_.size() + 1);
    return *storage_.emplace_back(std::make_unique<Unexpected>());
  }
  Unexpected& message = *free_.back();
  free_.pop_back();
  return message;
}

void Matcher::recycle(Unexpected& message) noexcept {
  message.data.clear();
  if (message.data.capacity() > kept_capacity) message.data.shrink_to_fit();
  message.charged = 0;
  free_.push_back(&message);
}

}  // namespace godwit::core
