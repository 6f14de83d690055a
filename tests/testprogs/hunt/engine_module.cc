// The extension module `_engine`: Engine for Python. One build serves every CPython from 3.7 on.
#define Py_LIMITED_API 0x03070000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>

#include <exception>
#include <memory>
#include <optional>

#include "tests/testprogs/hunt/engine.h"

// Not anonymous: they are to be read in profiles.
namespace binding {

// One for the process, as frameworks have it: the worker outlives the threads that push.
static std::unique_ptr<engine::Engine>& TheEngine() {
  static std::unique_ptr<engine::Engine> engine;
  return engine;
}

static engine::Engine* Started() {
  if (!TheEngine()) PyErr_SetString(PyExc_RuntimeError, "start() first");
  return TheEngine().get();
}

static std::optional<engine::Scores> ToScores(PyObject* list) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "a list of numbers is wanted");
    return std::nullopt;
  }
  engine::Scores scores;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    scores.push_back(PyFloat_AsDouble(PyList_GetItem(list, i)));
    if (PyErr_Occurred() != nullptr) return std::nullopt;
  }
  return scores;
}

// Of new references; nullptr as soon as one of them is.
template <typename Values, typename Make>
static PyObject* ToList(const Values& values, Make make) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(values.size()));
  if (list == nullptr) return nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* item = make(values[i]);
    if (item == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), item) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

static PyObject* Start(PyObject*, PyObject* arguments) {
  const char* device = nullptr;
  const char* process_name = nullptr;
  if (PyArg_ParseTuple(arguments, "ss", &device, &process_name) == 0) return nullptr;
  ::pthread_setname_np(::pthread_self(), process_name);
  try {
    TheEngine() = std::make_unique<engine::Engine>(device);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_OSError, error.what());
    return nullptr;
  }
  return PyLong_FromLong(TheEngine()->worker_tid());
}

static PyObject* Push(PyObject*, PyObject* arguments) {
  PyObject* list = nullptr;
  int k = 0;
  if (PyArg_ParseTuple(arguments, "Oi", &list, &k) == 0) return nullptr;
  engine::Engine* engine = Started();
  if (engine == nullptr) return nullptr;
  std::optional<engine::Scores> scores = ToScores(list);
  if (!scores) return nullptr;
  return PyLong_FromUnsignedLongLong(
      engine->Push(std::move(*scores), static_cast<std::size_t>(k < 0 ? 0 : k)));
}

static PyObject* Wait(PyObject*, PyObject* arguments) {
  unsigned long long handle = 0;
  if (PyArg_ParseTuple(arguments, "K", &handle) == 0) return nullptr;
  engine::Engine* engine = Started();
  if (engine == nullptr) return nullptr;
  engine::Scores result;
  Py_BEGIN_ALLOW_THREADS;
  result = engine->Wait(handle);
  Py_END_ALLOW_THREADS;
  return ToList(result, PyFloat_FromDouble);
}

// What the worker's clock says: a list of (begin, locked, answered, end).
static PyObject* Stop(PyObject*, PyObject*) {
  engine::Engine* engine = Started();
  if (engine == nullptr) return nullptr;
  const std::vector<engine::Visit>* visits = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  visits = &engine->Stop();
  Py_END_ALLOW_THREADS;
  return ToList(*visits, [](const engine::Visit& visit) {
    return Py_BuildValue("LLLL", static_cast<long long>(visit.begin),
                         static_cast<long long>(visit.locked),
                         static_cast<long long>(visit.answered), static_cast<long long>(visit.end));
  });
}

static PyMethodDef methods[] = {
    {"start", Start, METH_VARARGS, "start(device, process_name) -> tid of the worker"},
    {"push", Push, METH_VARARGS, "push(scores, k) -> handle"},
    {"wait", Wait, METH_VARARGS, "wait(handle) -> the k largest"},
    {"stop", Stop, METH_NOARGS, "stop() -> [(begin, locked, answered, end), ...]"},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef module{
    PyModuleDef_HEAD_INIT, "_engine", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace binding

PyMODINIT_FUNC PyInit__engine() { return PyModule_Create(&binding::module); }
