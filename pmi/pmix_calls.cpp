#include "pmi/pmix_calls.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <cctype>

namespace godwit::pmi {

std::string pmix_words(pmix_status_t status) { return fmt::format("{} ({})", PMIx_Error_string(status), status); }

void pmix_check(pmix_status_t status, std::string_view who, std::string_view call) {
  if (status != PMIX_SUCCESS)
    throw Error(ErrorCode::bootstrap, fmt::format("{}: {} failed: {}", who, call, pmix_words(status)));
}

std::string pmix_version() {
  // "OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, ...)"
  const std::string text = PMIx_Get_version();
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto begin = std::find_if(text.begin(), text.end(), is_digit);
  const auto dot = std::find(begin, text.end(), '.');
  if (dot == text.end()) return std::string(begin, text.end());
  return {begin, std::find_if_not(dot + 1, text.end(), is_digit)};
}

pmix_proc_t pmix_process(const char* name_space, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, name_space, rank);
  return process;
}

InfoList::~InfoList() {
  for (pmix_info_t& item : items_) PMIX_INFO_DESTRUCT(&item);
}

void InfoList::add_raw(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t item;
  PMIX_INFO_CONSTRUCT(&item);
  pmix_check(PMIx_Info_load(&item, key, value, type), "Godwit", fmt::format("PMIx_Info_load of {}", key));
  items_.push_back(item);
}

void InfoList::add_list(const char* key, InfoList&& list) {
  pmix_data_array_t* array = nullptr;
  PMIX_DATA_ARRAY_CREATE(array, list.size(), PMIX_INFO);
  std::copy(list.items_.begin(), list.items_.end(), static_cast<pmix_info_t*>(array->array));
  list.items_.clear();
  pmix_info_t item;
  PMIX_INFO_CONSTRUCT(&item);
  PMIX_LOAD_KEY(item.key, key);
  item.value.type = PMIX_DATA_ARRAY;
  item.value.data.darray = array;
  items_.push_back(item);
}

void Reply::finish(pmix_status_t status) {
  const std::lock_guard lock(mutex_);
  if (!status_) status_ = status;
  done_.notify_all();
}

std::optional<pmix_status_t> Reply::wait_until(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  done_.wait_until(lock, deadline, [this] { return status_.has_value(); });
  return status_;
}

void Reply::on_done(pmix_status_t status, void* data) {
  const std::unique_ptr<std::shared_ptr<Reply>> token(static_cast<std::shared_ptr<Reply>*>(data));
  (*token)->finish(status);
}

}  // namespace godwit::pmi
