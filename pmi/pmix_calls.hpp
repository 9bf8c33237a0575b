// PMIx's C interface with owners and waiting. Includes pmix.h: only for the .cpp files that talk to PMIx.
#pragma once

#include <pmix.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace godwit::pmi {

/// "PMIX_ERR_UNREACH (-25)"
std::string pmix_words(pmix_status_t status);
/// Throws Error(bootstrap) "rank 3: PMIx_Put failed: ..." unless the call succeeded; `who` as "rank 3".
void pmix_check(pmix_status_t status, std::string_view who, std::string_view call);
/// "4.2", of the library that this process runs with.
std::string pmix_version();

pmix_proc_t pmix_process(const char* name_space, pmix_rank_t rank);

/// An array of attributes, owned.
class InfoList {
 public:
  InfoList() = default;
  ~InfoList();
  InfoList(InfoList&& other) noexcept : items_(std::exchange(other.items_, {})) {}
  InfoList& operator=(InfoList&&) = delete;

  void add_raw(const char* key, const void* value, pmix_data_type_t type);
  void flag(const char* key) { add_bool(key, true); }
  void add_bool(const char* key, bool value) { add_raw(key, &value, PMIX_BOOL); }
  void add_int(const char* key, int value) { add_raw(key, &value, PMIX_INT); }
  void add_u16(const char* key, std::uint16_t value) { add_raw(key, &value, PMIX_UINT16); }
  void add_u32(const char* key, std::uint32_t value) { add_raw(key, &value, PMIX_UINT32); }
  void add_rank(const char* key, pmix_rank_t value) { add_raw(key, &value, PMIX_PROC_RANK); }
  void add_text(const char* key, const std::string& value) { add_raw(key, value.c_str(), PMIX_STRING); }
  /// One attribute whose value is an array of attributes, which moves into it.
  void add_list(const char* key, InfoList&& list);

  pmix_info_t* data() noexcept { return items_.empty() ? nullptr : items_.data(); }
  std::size_t size() const noexcept { return items_.size(); }

 private:
  std::vector<pmix_info_t> items_;
};

/// Outcome of an asynchronous PMIx call. Any thread.
class Reply {
 public:
  using Clock = std::chrono::steady_clock;

  /// The first outcome counts.
  void finish(pmix_status_t status);
  /// Nothing at the deadline.
  std::optional<pmix_status_t> wait_until(Clock::time_point deadline);

  /// For PMIx: `data` is a new std::shared_ptr<Reply>.
  static void on_done(pmix_status_t status, void* data);

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<pmix_status_t> status_;
};

/// Starts `call(pmix_op_cbfunc_t, void*)`, whose outcome goes to `reply`, however late it comes.
template <class Call>
void pmix_start(const std::shared_ptr<Reply>& reply, Call&& call) {
  auto token = std::make_unique<std::shared_ptr<Reply>>(reply);
  const pmix_status_t status = call(&Reply::on_done, token.get());
  if (status == PMIX_SUCCESS)
    static_cast<void>(token.release());  // on_done deletes it
  else
    reply->finish(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);  // done, or refused: no callback
}

/// Starts a call and waits for it; PMIX_ERR_TIMEOUT at the deadline.
template <class Call>
pmix_status_t pmix_wait(Reply::Clock::time_point deadline, Call&& call) {
  const auto reply = std::make_shared<Reply>();
  pmix_start(reply, call);
  return reply->wait_until(deadline).value_or(PMIX_ERR_TIMEOUT);
}

}  // namespace godwit::pmi
