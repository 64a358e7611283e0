"""What to do about what a script lacks: a clause behind what Python says of it, with the package to install."""

import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path

from smemviz.messages import english

# What is imported, with the package where that has another name; of a package's parts the longest that is here counts.
_NAMES = """
astropy attr=attrs Bio=biopython bokeh bs4=beautifulsoup4 cffi chalk=chalk-diagrams click cppimport
Crypto=pycryptodome cuda.cccl=cuda-cccl cuda.compute=cuda-cccl cuda.coop=cuda-cccl cuda.core=cuda-core
cuda.tile=cuda-tile cuda=cuda-python cudf=cudf-cu12 cugraph=cugraph-cu12 cuml=cuml-cu12 cupy=cupy-cuda12x
cupyx=cupy-cuda12x cutlass=nvidia-cutlass-dsl cv2=opencv-python dask dask_cuda=dask-cuda dateutil=python-dateutil
dearpygui dotenv=python-dotenv einops faiss=faiss-cpu flash_attn=flash-attn git=gitpython gputil graphviz h5py imageio
IPython=ipython jax jinja2 joblib keras kernel_tuner=kernel-tuner librosa mako matplotlib ml_dtypes moviepy mpi4py
mpl_toolkits=matplotlib netCDF4=netcdf4 networkx nibabel numba_cuda=numba-cuda nvmath=nvmath-python
nvshmem=nvshmem4py-cu12 nvtx OpenGL=pyopengl osgeo=gdal pandas PIL=pillow plotly progress progressbar=progressbar2
psutil pyarrow pycuda pydicom pygame pylab=matplotlib pynvml=nvidia-ml-py pyopencl pyqtgraph pyspark pytest pytools
pytorch_lightning=pytorch-lightning pyvista pywt=pywavelets reikna requests rich rmm=rmm-cu12 scipy seaborn
serial=pyserial SimpleITK=simpleitk skcuda=scikit-cuda skimage=scikit-image sklearn=scikit-learn skvideo sympy tables
taichi tensorflow tensorrt tilelang torch torchaudio torchvision tqdm transformers trimesh
triton='smemviz[triton]' umap=umap-learn vispy vtk warp=warp-lang wx=wxpython xarray yaml=pyyaml zmq=pyzmq
"""
_PACKAGES = {module: package or module for module, _, package in (word.partition("=") for word in _NAMES.split())}
# What modules of Python 2 are called in Python 3.
_PYTHON_3 = {
    "ConfigParser": "configparser",
    "Image": "PIL.Image",
    "Queue": "queue",
    "StringIO": "io",
    "Tkinter": "tkinter",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "urllib2": "urllib.request",
}


def package_of(module: str) -> str | None:
    """Return the package that has a module, None where it is not known; a name that PyPI has may be another thing."""
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in _PACKAGES:
            return _PACKAGES[name]
    return None


def is_installed(module: str) -> bool:
    """Tell whether a module can be imported here."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def remedy(error: BaseException) -> str:
    """Return what to do about an exception, with a semicolon before it; nothing where only its script can tell."""
    if isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith("No module named"):
        return f"; {_missing(error.name)}"
    if isinstance(error, FileNotFoundError) and error.filename is not None and not os.path.isabs(error.filename):
        return "; " + english(
            "it was looked for in {folder}; run smemviz in the folder that contains it", folder=os.getcwd()
        )
    if isinstance(error, FileNotFoundError) and str(error.filename).startswith("/content/"):
        return "; " + english("that folder is Colab's; put the file beside the script, and name it without a folder")
    if isinstance(error, IndexError) and "argv" in (_last_line(error) or ""):
        return "; " + wants_arguments()
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "; " + english("the file is a part of a package: run the script that imports it")
    if older := isinstance(error, AttributeError) and re.search(r"use `(\w+)` by itself", str(error)):
        return "; " + english("it is written for an older NumPy: write {name} instead", name=older[1])
    if "CUDA initialized before forking" in str(error):
        return "; " + english("start processes with multiprocessing.get_context('spawn'), or fork before the first use")
    return ""


def wants_arguments() -> str:
    """Say how a script is given its arguments."""
    return english("it reads arguments: write them after --, as in smemviz run FILE -- 1024")


def _missing(module: str) -> str:
    root = module.partition(".")[0]
    if root != module and is_installed(root):
        return english("the {package} that is installed has no such part", package=root)
    for folder in Path(sys.path[0]).resolve().parents:  # a part of a package that is run as a script
        if (folder / root).is_dir() or (folder / f"{root}.py").is_file():
            return english("it lies in {folder}; run with PYTHONPATH={folder}", folder=folder)
    if newer := _PYTHON_3.get(module):
        return english("it is written for Python 2: write {name} instead", name=newer)
    if root in sys.stdlib_module_names:
        return english("it is a part of Python that is missing from this installation")
    package = package_of(module)
    if package is None:
        return english("put {root}.py beside the file, or install the package that has it", root=root)
    return english(
        "install it with pip install {package}, or put {root}.py beside the file", package=package, root=root
    )


def _last_line(error: BaseException) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].line if frames else None
