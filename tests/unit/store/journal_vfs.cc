#include "tests/unit/store/journal_vfs.h"

namespace profd::store {

// In front of the system layer's own file, which follows it in memory.
struct JournalVfs::File {
  sqlite3_file base;
  JournalVfs* vfs;
  std::string* path;
  bool kept;  // the database or its log; not a temporary file
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

JournalVfs::File& JournalVfs::Of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }

JournalVfs::JournalVfs() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.zName = kName;
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = &JournalVfs::Open;
  vfs_.xDelete = &JournalVfs::Delete;
  sqlite3_vfs_register(&vfs_, 0);
}

JournalVfs::~JournalVfs() { sqlite3_vfs_unregister(&vfs_); }

int JournalVfs::Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
  auto* self = static_cast<JournalVfs*>(vfs->pAppData);
  File& opened = Of(file);
  const int code = self->real_->xOpen(self->real_, path, opened.real(), flags, out);
  opened.base.pMethods = nullptr;
  if (code != SQLITE_OK) return code;
  opened.vfs = self;
  opened.path = new std::string(path == nullptr ? "" : path);
  opened.kept = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
  static const sqlite3_io_methods kMethods = {
      3,
      [](sqlite3_file* f) {
        delete Of(f).path;
        return Of(f).real()->pMethods->xClose(Of(f).real());
      },
      [](sqlite3_file* f, void* bytes, int size, sqlite3_int64 offset) {
        return Of(f).real()->pMethods->xRead(Of(f).real(), bytes, size, offset);
      },
      &JournalVfs::Write,
      &JournalVfs::Truncate,
      &JournalVfs::Sync,
      [](sqlite3_file* f, sqlite3_int64* size) {
        return Of(f).real()->pMethods->xFileSize(Of(f).real(), size);
      },
      [](sqlite3_file* f, int lock) { return Of(f).real()->pMethods->xLock(Of(f).real(), lock); },
      [](sqlite3_file* f, int lock) { return Of(f).real()->pMethods->xUnlock(Of(f).real(), lock); },
      [](sqlite3_file* f, int* reserved) {
        return Of(f).real()->pMethods->xCheckReservedLock(Of(f).real(), reserved);
      },
      [](sqlite3_file* f, int what, void* argument) {
        return Of(f).real()->pMethods->xFileControl(Of(f).real(), what, argument);
      },
      [](sqlite3_file* f) { return Of(f).real()->pMethods->xSectorSize(Of(f).real()); },
      [](sqlite3_file*) { return 0; },  // promises nothing of what a disk does
      [](sqlite3_file* f, int page, int size, int extend, void volatile** memory) {
        return Of(f).real()->pMethods->xShmMap(Of(f).real(), page, size, extend, memory);
      },
      [](sqlite3_file* f, int offset, int count, int lock) {
        return Of(f).real()->pMethods->xShmLock(Of(f).real(), offset, count, lock);
      },
      [](sqlite3_file* f) { Of(f).real()->pMethods->xShmBarrier(Of(f).real()); },
      [](sqlite3_file* f, int remove) {
        return Of(f).real()->pMethods->xShmUnmap(Of(f).real(), remove);
      },
      [](sqlite3_file*, sqlite3_int64, int, void** bytes) {
        *bytes = nullptr;
        return SQLITE_OK;
      },
      [](sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; }};
  opened.base.pMethods = &kMethods;
  return SQLITE_OK;
}

int JournalVfs::Delete(sqlite3_vfs* vfs, const char* path, int sync) {
  auto* self = static_cast<JournalVfs*>(vfs->pAppData);
  self->steps_.push_back({Step::kDelete, path, 0, {}});
  return self->real_->xDelete(self->real_, path, sync);
}

int JournalVfs::Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  File& of = Of(file);
  if (of.vfs->full_) {
    sqlite3_int64 end = 0;
    of.real()->pMethods->xFileSize(of.real(), &end);
    if (offset + size > end) {
      ++of.vfs->refused_;
      return SQLITE_FULL;
    }
  }
  if (of.kept)
    of.vfs->steps_.push_back(
        {Step::kWrite, *of.path, static_cast<std::uint64_t>(offset),
         std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))});
  return of.real()->pMethods->xWrite(of.real(), bytes, size, offset);
}

int JournalVfs::Truncate(sqlite3_file* file, sqlite3_int64 size) {
  File& of = Of(file);
  if (of.kept)
    of.vfs->steps_.push_back({Step::kTruncate, *of.path, static_cast<std::uint64_t>(size), {}});
  return of.real()->pMethods->xTruncate(of.real(), size);
}

int JournalVfs::Sync(sqlite3_file* file, int flags) {
  File& of = Of(file);
  if (of.kept) of.vfs->steps_.push_back({Step::kSync, *of.path, 0, {}});
  return of.real()->pMethods->xSync(of.real(), flags);
}

void JournalVfs::Apply(const Step& step, std::string& content) {
  if (step.kind == Step::kTruncate) {
    content.resize(step.offset);
  } else if (step.kind == Step::kWrite) {
    if (content.size() < step.offset + step.bytes.size())
      content.resize(step.offset + step.bytes.size());
    content.replace(step.offset, step.bytes.size(), step.bytes);
  }
}

std::map<std::string, std::string> JournalVfs::FilesAfter(std::size_t count,
                                                          Unsynced unsynced) const {
  std::map<std::string, std::string> files;
  std::map<std::string, std::vector<const Step*>> pending;
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = steps_[i];
    auto& waiting = pending[step.path];
    if (step.kind == Step::kSync) {
      for (const Step* write : waiting) Apply(*write, files[step.path]);
      waiting.clear();
    } else if (step.kind == Step::kDelete) {
      files.erase(step.path);
      waiting.clear();
    } else {
      waiting.push_back(&step);
    }
  }
  if (unsynced == Unsynced::kLost) return files;
  for (const auto& [path, waiting] : pending) {
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (unsynced == Unsynced::kTorn && i % 2 == 1) continue;
      Step step = *waiting[i];
      if (unsynced == Unsynced::kTorn && i + 1 == waiting.size())
        step.bytes.resize(step.bytes.size() / 2);
      Apply(step, files[path]);
    }
  }
  return files;
}

}  // namespace profd::store
